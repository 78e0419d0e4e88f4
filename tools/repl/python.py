# The Python side of the REPL tool: it runs the code of each request in one namespace.
#
# Requests come as lines of JSON on descriptor 3, answers go as lines of JSON to descriptor 4.
# Both are moved out of the way and closed in children. What the code prints goes to
# descriptors 1 and 2, which are one pipe.
def _driver():
    # asyncio takes as long as all of these, so it is imported when it is needed.
    import ast, base64, builtins, fcntl, io, json, linecache, os, signal, sys, traceback, types

    def away(fd):
        new = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 190)
        os.close(fd)
        return new

    requests, answers = away(3), away(4)
    printed = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 190)
    # The code may replace what the driver uses.
    read, write, dup2, fstat, getpid, _exit = os.read, os.write, os.dup2, os.fstat, os.getpid, os._exit
    loads, dumps, set_signal, SIGINT = json.loads, json.dumps, signal.signal, signal.SIGINT
    compile_, eval_, repr_, isinstance_, set_trace, set_profile = builtins.compile, builtins.eval, builtins.repr, builtins.isinstance, sys.settrace, sys.setprofile
    Coroutine, TOP, TracebackException = types.CoroutineType, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, traceback.TracebackException
    Expression, Expr, TREE = ast.Expression, ast.Expr, ast.PyCF_ONLY_AST
    modules, cache, b64 = sys.modules, linecache.cache, base64.b64encode
    replace_names, names = vars(builtins).update, dict(vars(builtins))
    stdout, stderr = sys.stdout, sys.stderr
    get_limit, set_limit, limit = sys.getrecursionlimit, sys.setrecursionlimit, sys.getrecursionlimit()
    me = getpid()
    state = types.SimpleNamespace(running=False, loop=None, count=0)
    main = types.ModuleType("__main__")
    modules["__main__"] = main
    space = main.__dict__
    space["__builtins__"] = builtins
    sys.argv = [""]
    sys.path.insert(0, "")
    os.environ.setdefault("MPLBACKEND", "Agg")

    def interrupted(*_):
        if state.running:
            raise KeyboardInterrupt

    def flush():
        for f in (lambda: sys.stdout, lambda: sys.stderr, lambda: stdout, lambda: stderr):
            try:
                f().flush()
            except BaseException:
                pass

    def show(text):
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        while data:
            data = data[write(printed, data):]

    def restore():
        # Descriptors that the code has closed, and functions that it has replaced.
        for fd in (1, 2):
            try:
                fstat(fd)
            except OSError:
                dup2(printed, fd)
        try:
            fstat(0)
        except OSError:
            null = os.open(os.devnull, os.O_RDONLY)
            if null != 0:
                dup2(null, 0)
                os.close(null)
        replace_names(names)
        modules["__main__"] = main
        space["__builtins__"] = builtins
        set_trace(None)
        set_profile(None)
        if get_limit() < limit:
            set_limit(limit)
        for fd, name in ((1, "stdout"), (2, "stderr")):
            if getattr(getattr(sys, name, None), "closed", True):
                setattr(sys, name, io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), "utf-8", "backslashreplace", write_through=True))

    def result(value):
        replace_names(names)
        if not isinstance_(value, Coroutine):
            return value
        import asyncio
        if state.loop is None or state.loop.is_closed():
            state.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(state.loop)
        task = state.loop.create_task(value)
        try:
            return state.loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                try:
                    state.loop.run_until_complete(task)
                except BaseException:
                    pass
            raise

    def run(code):
        state.count += 1
        name = "<call %d>" % state.count
        cache[name] = (len(code), None, code.splitlines(True), name)
        tree = compile_(code, name, "exec", TREE | TOP, True)
        last = None
        if tree.body and isinstance_(tree.body[-1], Expr):
            last = Expression(tree.body.pop().value)
        if tree.body:
            result(eval_(compile_(tree, name, "exec", TOP, True), space))
        if last is None:
            return
        value = result(eval_(compile_(last, name, "eval", TOP, True), space))
        replace_names(names)
        if value is not None:
            space["_"] = value
            text = repr_(value)
            flush()
            show(text + "\n")

    def describe(err):
        # Without the frames of the driver.
        whole = shown = TracebackException(type(err), err, err.__traceback__, compact=True)
        while shown is not None:
            shown.stack[:] = [f for f in shown.stack if f.filename != "<driver>"]
            shown = shown.__cause__ or shown.__context__
        return "".join(whole.format())

    def figures():
        plt = modules.get("matplotlib.pyplot")
        if plt is None:
            return []
        out, numbers = [], list(plt.get_fignums())
        flush()
        for number in numbers[:4]:
            data = io.BytesIO()
            plt.figure(number).savefig(data, format="png")
            if data.tell() <= 3 << 20:
                out.append(b64(data.getvalue()).decode())
            else:
                show("[figure %s is not shown: it exceeds 3 MiB. Save it to a file.]\n" % number)
        if len(numbers) > 4:
            show("[%d more figures are not shown: an answer has at most 4. Plot them in a further call.]\n" % (len(numbers) - 4))
        plt.close("all")
        return out

    def call(code):
        ok, images = True, []
        try:
            try:
                state.running = True
                set_signal(SIGINT, interrupted)
                run(code)
                images = figures()
            finally:
                state.running = False
                replace_names(names)
        except SystemExit:
            state.running = False
            raise
        except BaseException as err:
            state.running = False
            ok = False
            if getpid() == me:
                flush()
                try:
                    text = describe(err)
                except BaseException:
                    text = type(err).__name__ + ", which cannot be shown\n"
                show(text)
        return ok, images

    def loop():
        rest = b""
        while True:
            while b"\n" not in rest:
                try:
                    part = read(requests, 1 << 16)
                except KeyboardInterrupt:
                    continue
                if not part:
                    return
                rest += part
            line, _, rest = rest.partition(b"\n")
            request = loads(line)
            line = None
            restore()
            ok, images = call(request["code"])
            if getpid() != me:
                _exit(1)  # a child that the code has forked
            flush()
            restore()
            answer = memoryview(b"\n" + dumps({"id": request["id"], "ok": ok, "images": images}).encode() + b"\n")
            while answer:
                answer = answer[write(answers, answer):]

    set_signal(SIGINT, interrupted)
    loop()


_driver()
