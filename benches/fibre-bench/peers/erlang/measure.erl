%% The clocks, and how long a repetition becomes: rounds of more and more operations, of which the
%% last one is long enough.

-module(measure).
-export([round/2, repeated/3, calibrated/3, expect/3, quantiles/1, json/1]).

%% Runs this, which is so many operations.
round(Run, Operations) ->
    Begin = clocks(),
    Run(),
    sample(Begin, clocks(), Operations).

%% Makes runs of a program until they are long enough. One has so many messages, and a sample is
%% per message. A run returns the values that are read from it.
repeated(#{"seconds" := Seconds}, Messages, Run) ->
    calibrated(Seconds, Messages, fun(Operations) ->
        Runs = (Operations + Messages - 1) div Messages,
        Begin = clocks(),
        {Values, Shortest} = runs(Runs, Run, #{}, infinity),
        Sample = sample(Begin, clocks(), Runs * Messages),
        Sample#{values => Values#{run_ms => Shortest / 1.0e6}}
    end).

%% Makes so many runs; returns the values of the last, and how long the shortest took.
runs(0, _, Values, Shortest) ->
    {Values, Shortest};
runs(Left, Run, _, Shortest) ->
    Begin = erlang:monotonic_time(nanosecond),
    Values = Run(),
    Took = erlang:monotonic_time(nanosecond) - Begin,
    runs(Left - 1, Run, Values, min(Took, Shortest)).

%% Repeats rounds, beginning with the fewest operations. A round returns its sample, or makes one
%% of the clocks. It is judged by the fastest so far: a disturbance can make a round of few
%% operations long, but not one of many short. One that took far longer than asked counts, too.
calibrated(Seconds, Fewest, Round) ->
    calibrated(Seconds, Fewest, Round, infinity).

calibrated(Seconds, Operations, Round, Fastest) ->
    Sample = #{operations := Done, cpu_ns := Cpu, wall_ns := Wall} = Round(Operations),
    Faster = min(Fastest, Cpu),
    Length = Faster * Done / 1.0e9,
    Took = max(Cpu, Wall) * Done / 1.0e9,
    case Length >= Seconds orelse Took >= 10 * Seconds of
        true ->
            Sample;
        false ->
            %% Far from the end grow fast; near it aim a little beyond.
            Growth = min(Seconds * 1.1 / Length, 8.0),
            calibrated(Seconds, ceil(Operations * Growth), Round, Faster)
    end.

%% CPU time of all threads, which the emulator knows in milliseconds, and time on the wall.
clocks() ->
    {Runtime, _} = erlang:statistics(runtime),
    {Runtime * 1000000, erlang:monotonic_time(nanosecond)}.

%% What a round took, per operation. Less than a millisecond of CPU time counts as half of one.
sample({CpuBefore, WallBefore}, {CpuAfter, WallAfter}, Operations) ->
    Cpu = max(CpuAfter - CpuBefore, 500000),
    #{
        operations => Operations,
        cpu_ns => Cpu / Operations,
        wall_ns => (WallAfter - WallBefore) / Operations,
        values => #{}
    }.

%% Fails unless a figure is what it has to be.
expect(_, Right, Right) -> ok;
expect(What, Found, Right) -> error({What, Found, instead_of, Right}).

%% The quantiles of times in nanoseconds, in microseconds.
quantiles(Times) ->
    Sorted = list_to_tuple(lists:sort(Times)),
    At = fun(Part) ->
        element(max(ceil(Part * tuple_size(Sorted)), 1), Sorted) / 1.0e3
    end,
    #{
        p50_us => At(0.5),
        p90_us => At(0.9),
        p99_us => At(0.99),
        p999_us => At(0.999),
        p9999_us => At(0.9999),
        max_us => At(1.0)
    }.

%% A sample as a line of JSON.
json(#{operations := Operations, cpu_ns := Cpu, wall_ns := Wall, values := Values}) ->
    Pairs = [io_lib:format("\"~ts\":~.4f", [Name, Value]) || {Name, Value} <- maps:to_list(Values)],
    io_lib:format(
        "{\"operations\":~b,\"cpu_ns\":~.4f,\"wall_ns\":~.4f,\"values\":{~ts}}",
        [Operations, Cpu, Wall, lists:join(",", Pairs)]
    ).
