%% Erlang, as a peer: one program with the harness's programs over actors.
%%
%% Without arguments it prints the names of its workloads. `peer-erlang WORKLOAD key=value…` runs
%% one repetition of a workload and prints it as one line of JSON. `peer-erlang served` serves
%% (served.erl). A wrong call ends with exit code 2, a failure with 1. The emulator has as many
%% schedulers as there are processors (build.sh), and is otherwise as it comes.

-module(actor_peer).
-export([main/0]).

%% Reads the command line, and does what it asks for.
main() ->
    Code =
        try perform(init:get_plain_arguments()) of
            ok -> 0
        catch
            throw:{wrong_call, Why} -> complain(Why, 2);
            Class:Reason:Stack -> complain(io_lib:format("~p ~p ~p", [Class, Reason, Stack]), 1)
        end,
    halt(Code).

%% Prints why there is no answer; returns the exit code.
complain(Why, Code) ->
    io:format(standard_error, "peer-erlang: ~ts~n", [Why]),
    Code.

perform([]) ->
    lists:foreach(fun({Name, _, _}) -> io:format("~ts~n", [Name]) end, workloads());
perform(["served", Server | Words]) ->
    served:serve(Server, read(Words, #{"processors" => 1, "size" => 16}, []));
perform([Name | Words]) ->
    case lists:keyfind(Name, 1, workloads()) of
        false ->
            throw({wrong_call, "there is no workload " ++ Name});
        {_, Keys, Run} ->
            Settings = read(Words, Keys#{"processors" => 1, "seconds" => 0.1}, []),
            io:put_chars([measure:json(Run(Settings)), "\n"])
    end.

%% The names of all workloads, the keys they take with their defaults, and what runs them.
workloads() ->
    [
        {"big", #{"players" => 512}, fun big:measure/1},
        {"bang", #{"senders" => 512, "numbers" => 2000}, fun bang:measure/1},
        {"logm", #{"terms" => 25000, "series" => 10}, fun logm:measure/1},
        {"pubsub",
            #{"publishers" => 10, "subscribers" => 1000, "topics" => 2, "messages" => 100},
            fun pubsub:measure/1},
        {"ask", #{}, fun ask:measure/1},
        {"rest", #{"actors" => 1000}, fun rest:measure/1}
    ].

%% The settings with the words' values in them.
read([], Settings, _) ->
    Settings;
read([Word | Words], Settings, Given) ->
    case string:split(Word, "=") of
        [Key, Text] when is_map_key(Key, Settings) ->
            lists:member(Key, Given) andalso throw({wrong_call, Key ++ " is given twice"}),
            read(Words, Settings#{Key := value(Key, Text)}, [Key | Given]);
        _ ->
            throw({wrong_call, "there is no key for " ++ Word})
    end.

%% The value of a key: only seconds have fractions, and only they may be 0.
value("seconds", Text) ->
    case {string:to_float(Text), string:to_integer(Text)} of
        {{Value, []}, _} when Value >= 0 -> Value;
        {_, {Value, []}} when is_integer(Value), Value >= 0 -> float(Value);
        _ -> throw({wrong_call, "seconds are a number, not " ++ Text})
    end;
value(Key, Text) ->
    case string:to_integer(Text) of
        {Value, []} when is_integer(Value), Value > 0 -> Value;
        _ -> throw({wrong_call, Key ++ " is a number from 1 on, not " ++ Text})
    end.
