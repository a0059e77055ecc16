%% Processes that have nothing to do: what the emulator uses all the same.

-module(rest).
-export([measure/1]).

%% Milliseconds that the processes may take until they have nothing to do.
-define(SETTLE, 200).

measure(#{"actors" := Count, "seconds" := Seconds}) ->
    Idle = [spawn_link(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, Count)],
    timer:sleep(?SETTLE),
    Sample = measure:round(fun() -> timer:sleep(round(Seconds * 1000)) end, 1),
    [Process ! stop || Process <- Idle],
    #{cpu_ns := Cpu, wall_ns := Wall} = Sample,
    %% An operation is a second.
    Sample#{cpu_ns := Cpu * 1.0e9 / Wall, wall_ns := 1.0e9}.
