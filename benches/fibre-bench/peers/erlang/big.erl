%% BIG: each of N processes pings all, itself among them, answers pings, and reports when it has all
%% pongs. Pongs are counted as they come: BenchErl waits for them in the order of the pings, which
%% makes each process search its mailbox again and again.

-module(big).
-export([measure/1]).

measure(Settings = #{"players" := Players}) ->
    measure:repeated(Settings, 2 * Players * Players, fun() -> run(Players) end).

run(Count) ->
    Master = self(),
    Players = [spawn_link(fun() -> wait_for_all(Master) end) || _ <- lists:seq(1, Count)],
    [Player ! {all, Players} || Player <- Players],
    [receive done -> ok end || _ <- Players],
    [Player ! stop || Player <- Players],
    Left = [receive {left, Pings, Pongs} -> {Pings, Pongs} end || _ <- Players],
    measure:expect(pings, lists:sum([Pings || {Pings, _} <- Left]), Count * Count),
    measure:expect(pongs, lists:sum([Pongs || {_, Pongs} <- Left]), Count * Count),
    #{}.

wait_for_all(Master) ->
    receive
        {all, Players} ->
            Myself = self(),
            [Player ! {ping, Myself} || Player <- Players],
            play(Master, length(Players), 0, 0)
    end.

play(Master, Awaited, Pings, Pongs) ->
    receive
        {ping, From} ->
            From ! pong,
            play(Master, Awaited, Pings + 1, Pongs);
        pong ->
            Awaited =:= 1 andalso (Master ! done),
            play(Master, Awaited - 1, Pings, Pongs + 1);
        stop ->
            Master ! {left, Pings, Pongs}
    end.
