%% PUBSUB: publishers send to the subscribers of their topic, which is a list of these.

-module(pubsub).
-export([measure/1]).

measure(Settings) ->
    #{"subscribers" := Subscribers, "topics" := Topics, "messages" := Messages} = Settings,
    #{"publishers" := Publishers} = Settings,
    Topics =< Publishers orelse throw({wrong_call, "more topics for each than publishers"}),
    Deliveries = Subscribers * Topics * Messages,
    measure:repeated(Settings, Deliveries, fun() -> run(Settings, Deliveries) end).

run(Settings, Deliveries) ->
    #{"publishers" := Publishers, "subscribers" := Count} = Settings,
    #{"topics" := Topics, "messages" := Messages} = Settings,
    Master = self(),
    Read = fun() -> read(Master, Topics * Messages, #{}, []) end,
    Subscribers = [{Number, spawn_link(Read)} || Number <- lists:seq(0, Count - 1)],
    %% The first topic is each in turn, and the others follow it.
    Reads = fun(Number, Topic) ->
        (Topic - Number rem Publishers + Publishers) rem Publishers < Topics
    end,
    [
        begin
            Members = [Pid || {Number, Pid} <- Subscribers, Reads(Number, Topic)],
            spawn_link(fun() -> publish(Master, Topic, Members, 0, Messages) end) ! next
        end
     || Topic <- lists:seq(0, Publishers - 1)
    ],
    [receive published -> ok end || _ <- lists:seq(1, Publishers)],
    Times = lists:append([receive {read, Its} -> Its end || _ <- Subscribers]),
    measure:expect(deliveries, length(Times), Deliveries),
    measure:quantiles(Times).

%% Publishes a message at a time, so that it is others' turn in between.
publish(Master, Own, Members, Number, Messages) ->
    receive
        next when Number =:= Messages ->
            Master ! published;
        next ->
            News = {news, Own, Number, erlang:monotonic_time(nanosecond)},
            [Member ! News || Member <- Members],
            self() ! next,
            publish(Master, Own, Members, Number + 1, Messages)
    end.

%% Reads so many messages, those of each publisher in their order.
read(Master, 0, _, Times) ->
    Master ! {read, Times};
read(Master, Left, Next, Times) ->
    receive
        {news, From, Number, At} ->
            Time = erlang:monotonic_time(nanosecond) - At,
            measure:expect(order, Number, maps:get(From, Next, 0)),
            read(Master, Left - 1, Next#{From => Number + 1}, [Time | Times])
    end.
