%% A question there and its answer back, one after the other.

-module(ask).
-export([measure/1]).

%% One question in so many is timed by itself.
-define(TIMED, 16).
%% Questions of the first round.
-define(FEWEST, 1000).

measure(Settings = #{"seconds" := Seconds}) ->
    #{values := Values} =
        Sample = measure:calibrated(Seconds, ?FEWEST, fun(Questions) ->
            measure:repeated(Settings#{"seconds" := 0.0}, Questions, fun() -> run(Questions) end)
        end),
    Sample#{values := maps:remove(run_ms, Values)}.

run(Questions) ->
    Echo = spawn_link(fun echo/0),
    Master = self(),
    spawn_link(fun() -> Master ! {asked, inquire(Echo, 0, Questions, 0, [])} end),
    {Sum, Times} = receive {asked, All} -> All end,
    Echo ! stop,
    measure:expect(sum, Sum, Questions * (Questions + 1) div 2),
    measure:quantiles(Times).

echo() ->
    receive
        {question, Question, From, Number} ->
            From ! {Question, Number + 1},
            echo();
        stop ->
            ok
    end.

inquire(_, Questions, Questions, Sum, Times) ->
    {Sum, Times};
inquire(Echo, Number, Questions, Sum, Times) when Number rem ?TIMED =:= 0 ->
    Begin = erlang:monotonic_time(nanosecond),
    Answer = ask(Echo, Number),
    Time = erlang:monotonic_time(nanosecond) - Begin,
    inquire(Echo, Number + 1, Questions, Sum + Answer, [Time | Times]);
inquire(Echo, Number, Questions, Sum, Times) ->
    inquire(Echo, Number + 1, Questions, Sum + ask(Echo, Number), Times).

ask(Echo, Number) ->
    Question = make_ref(),
    Echo ! {question, Question, self(), Number},
    receive
        {Question, Answer} -> Answer
    end.
