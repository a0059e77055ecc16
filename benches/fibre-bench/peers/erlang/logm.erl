%% LOGM: a worker for each series asks the computer of its rate for the next term, and waits for the
%% answer; all requests for terms are queued before.

-module(logm).
-export([measure/1]).

%% The rate of the first series, and how much a series' rate and first term are above those of the
%% one before.
-define(RATE, 3.46).
-define(INCREMENT, 0.0025).

measure(Settings = #{"terms" := Terms, "series" := Series}) ->
    measure:repeated(Settings, 3 * Terms * Series, fun() -> run(Terms, Series) end).

run(Terms, Count) ->
    Master = self(),
    Pairs = [start(Master, Index) || Index <- lists:seq(0, Count - 1)],
    queue(Terms, [Worker || {Worker, _} <- Pairs]),
    Ends = [gather(Master, Pair) || Pair <- Pairs],
    Last = [last(Terms, Index) || Index <- lists:seq(0, Count - 1)],
    measure:expect(last_terms, [Term || {Term, _, _} <- Ends], Last),
    measure:expect(results, lists:sum([Results || {_, Results, _} <- Ends]), Terms * Count),
    measure:expect(computed, lists:sum([Computed || {_, _, Computed} <- Ends]), Terms * Count),
    #{}.

%% Starts the worker and the computer of a series.
start(Master, Index) ->
    Above = Index * ?INCREMENT,
    Computer = spawn_link(fun() -> compute(Master, ?RATE + Above, 0) end),
    {spawn_link(fun() -> work(Master, Computer, Above, 0) end), Computer}.

%% Asks each worker for a term, again and again.
queue(0, _) ->
    ok;
queue(Left, Workers) ->
    [Worker ! next_term || Worker <- Workers],
    queue(Left - 1, Workers).

%% Ends a series; returns its last term, its answers, and how many terms were computed.
gather(Master, {Worker, Computer}) ->
    Worker ! {stop, Master},
    receive
        {worked, Worker, Term, Results} ->
            Computer ! stop,
            receive
                {computed, Computer, Computed} -> {Term, Results, Computed}
            end
    end.

work(Master, Computer, Term, Results) ->
    receive
        next_term ->
            Question = make_ref(),
            Computer ! {compute, Question, self(), Term},
            receive
                {Question, Next} -> work(Master, Computer, Next, Results + 1)
            end;
        {stop, Master} ->
            Master ! {worked, self(), Term, Results}
    end.

compute(Master, Rate, Computed) ->
    receive
        {compute, Question, From, Term} ->
            From ! {Question, next(Rate, Term)},
            compute(Master, Rate, Computed + 1);
        stop ->
            Master ! {computed, self(), Computed}
    end.

%% The map itself.
next(Rate, Term) -> Rate * Term * (1.0 - Term).

%% The last term of a series, computed in one go.
last(Terms, Index) ->
    Above = Index * ?INCREMENT,
    lists:foldl(fun(_, Term) -> next(?RATE + Above, Term) end, Above, lists:seq(1, Terms)).
