%% The servers of the paper on Eve: `peer-erlang served echoing|counting` serves, a process for each
%% connection, and prints the address it listens on. When its standard input is closed it prints the
%% counter's value and ends.
%%
%% A request to the counter is one byte, 0 to read it and 1 to add one; the answer is the value in
%% eight bytes, the least significant first. The counter is a process that the connections ask.

-module(served).
-export([serve/2]).

%% Serves until the input ends. An echo takes as many bytes at a time as come.
serve(Server, Settings) ->
    Counter = spawn_link(fun() -> count(0) end),
    Handle = handler(Server, Counter),
    Options = [
        binary,
        {ip, {127, 0, 0, 1}},
        {active, false},
        {packet, raw},
        {nodelay, true},
        {backlog, 4096},
        {recbuf, max(maps:get("size", Settings), 4096)}
    ],
    {ok, Listener} = gen_tcp:listen(0, Options),
    {ok, Port} = inet:port(Listener),
    spawn_link(fun() -> accept(Listener, Handle) end),
    io:format("listening on 127.0.0.1:~b~n", [Port]),
    eof = io:get_line(""),
    io:format("counter ~b~n", [ask(Counter, read)]),
    ok.

%% What a server does with a connection.
handler("echoing", _) -> fun echo/1;
handler("counting", Counter) -> fun(Socket) -> answer(Socket, Counter) end;
handler(Other, _) -> throw({wrong_call, "there is no server " ++ Other}).

%% Starts a process for each connection, and hands the socket over to it.
accept(Listener, Handle) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Process = spawn(fun() ->
        receive
            begin_it -> Handle(Socket)
        end
    end),
    ok = gen_tcp:controlling_process(Socket, Process),
    Process ! begin_it,
    accept(Listener, Handle).

%% Sends back what comes until the client goes away.
echo(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Bytes} ->
            ok = gen_tcp:send(Socket, Bytes),
            echo(Socket);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

%% Answers requests until the client goes away, or sends what is none.
answer(Socket, Counter) ->
    case gen_tcp:recv(Socket, 1) of
        {ok, <<0>>} -> tell(Socket, Counter, read);
        {ok, <<1>>} -> tell(Socket, Counter, increment);
        _ -> gen_tcp:close(Socket)
    end.

tell(Socket, Counter, Request) ->
    Value = ask(Counter, Request),
    ok = gen_tcp:send(Socket, <<Value:64/little>>),
    answer(Socket, Counter).

%% Asks the counter, and waits for its value.
ask(Counter, Request) ->
    Counter ! {self(), Request},
    receive
        {Counter, Value} -> Value
    end.

%% The counter.
count(Value) ->
    receive
        {From, read} ->
            From ! {self(), Value},
            count(Value);
        {From, increment} ->
            From ! {self(), Value + 1},
            count(Value + 1)
    end.
