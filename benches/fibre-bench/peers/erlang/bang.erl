%% BANG: each of S processes sends M numbers to one, which answers none.

-module(bang).
-export([measure/1]).

measure(Settings = #{"senders" := Senders, "numbers" := Numbers}) ->
    measure:repeated(Settings, Senders * Numbers, fun() -> run(Senders, Numbers) end).

run(Count, Numbers) ->
    Master = self(),
    Receiver = spawn_link(fun() -> Master ! {sum, gather(Count * Numbers, 0)} end),
    Senders = [spawn_link(fun() -> wait_for_begin(Receiver) end) || _ <- lists:seq(1, Count)],
    [Sender ! {send, Numbers} || Sender <- Senders],
    Sum = receive {sum, All} -> All end,
    measure:expect(sum, Sum, Count * (Numbers * (Numbers - 1) div 2)),
    #{}.

wait_for_begin(Receiver) ->
    receive
        {send, Numbers} -> send(Receiver, 0, Numbers)
    end.

send(_, Numbers, Numbers) ->
    ok;
send(Receiver, Number, Numbers) ->
    Receiver ! Number,
    send(Receiver, Number + 1, Numbers).

gather(0, Sum) ->
    Sum;
gather(Left, Sum) ->
    receive
        Number -> gather(Left - 1, Sum + Number)
    end.
