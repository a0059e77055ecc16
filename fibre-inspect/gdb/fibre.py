"""Fibres in gdb: `fibres`, `fibres bt`, `fibre N COMMAND`, `fibre locks`, `fibre cycle`.

For live processes and for core files: everything is read from memory, and no function of the program
is called. gdb finds this script in the program or in the C library, in the section
.debug_gdb_scripts, and loads it by itself where its `auto-load safe-path` allows that; `source` does
otherwise.

Where things lie is said by a header in the program, whose layout and versions fibre-core/src/api/debugger.rs
has. Nothing here needs debug information, but for the names and lines of functions.

A fibre that does not run is shown by an unwinder: of the selected thread it claims the innermost
frame, and says that the caller of that is where the fibre has left its stack. So commands for frames
work, and no register is written.
"""

import collections
import re
import struct

import gdb
import gdb.unwinder

FIBRE_MAGIC = b"fibre\0\0\0"
FIBRE_VERSION = 2

# The kinds of what fibres wait for that are objects with an address, by their numbers: mutex, lock,
# condition variable, semaphore, barrier, event, wait group, notification, initialisation, channel.
FIBRE_OBJECTS = range(2, 12)

# The most bytes between the beginning of a stack and the frame of the first function on it.
FIBRE_FIRST = 4096

# The bytes that a switch pushes: the registers RBX and RBP.
FIBRE_PUSHED = 16

# How names of functions of the runtime, of std, and of what calls a fibre's closure begin.
FIBRE_RUNTIME = ("fibre_core::", "fibre_sync::", "fibre_io::", "fibre_capi::")
FIBRE_CALLERS = ("std::", "core::", "alloc::", "__rust_try", "__rust_begin_short_backtrace")
FIBRE_STD = ("std/src/", "core/src/", "alloc/src/")

# What the runtime's files and the C library have in their names.
FIBRE_FILES = re.compile(r"\bfibre-(core|sync|io|capi)(-[0-9.]+)?/src/|/libfibre-rt\.so")

# The length from which on a name is cut.
FIBRE_LONG = 120

# The most fibres that a line names.
FIBRE_NAMED = 20


class FibreMemory:
    """Reads memory of the process, or of the core file."""

    @staticmethod
    def bytes(address, length):
        """So many bytes."""
        return bytes(gdb.selected_inferior().read_memory(address, length))

    @classmethod
    def words(cls, address, count):
        """So many words."""
        return struct.unpack("<%dQ" % count, cls.bytes(address, 8 * count))

    @classmethod
    def word(cls, address):
        """One word."""
        return cls.words(address, 1)[0]

    @classmethod
    def text(cls, address, length):
        """A text."""
        return cls.bytes(address, length).decode("utf-8", "replace") if length else ""


class FibreHeader:
    """The header of one runtime: a program that loads the C library may have two."""

    FIXED = struct.Struct("<8sIIQQQQIII")
    BLOCK = collections.namedtuple(
        "Block",
        "id home pointer code awaited root since body rare name labels label_bytes hook next first",
    )

    def __init__(self, address):
        memory = FibreMemory.bytes(address, self.FIXED.size)
        (magic, version, length, self.clusters, kinds, kind_count, self.embedded, self.program,
         self.data, self.name_place) = self.FIXED.unpack(memory)
        if magic != FIBRE_MAGIC:
            raise ValueError
        if version != FIBRE_VERSION:
            raise gdb.GdbError(
                "fibre: the program has version %d of what debuggers read, and this script is for %d"
                % (version, FIBRE_VERSION))
        block = FibreMemory.bytes(address + self.FIXED.size, length - self.FIXED.size)
        count = len(self.BLOCK._fields)
        self.block = self.BLOCK(*struct.unpack_from("<%dI" % count, block))
        words = FibreMemory.words(kinds, 2 * kind_count)
        self.kinds = [FibreMemory.text(*words[at:at + 2]) for at in range(0, len(words), 2)]

    @classmethod
    def all(cls):
        """All headers of the process."""
        addresses = set()
        for line in gdb.execute("info files", to_string=True).splitlines():
            found = re.match(r"\s*(0x[0-9a-f]+) - 0x[0-9a-f]+ is \.fibre_debugger\b", line)
            if found:
                addresses.add(int(found.group(1), 16))
        try:
            addresses.add(int(gdb.parse_and_eval("&fibre_debugger")))
        except gdb.error:
            pass
        headers = []
        for address in sorted(addresses):
            try:
                headers.append(cls(address))
            except (gdb.MemoryError, ValueError):
                pass
        return headers


class Fibre:
    """A fibre that has started, and has not ended."""

    def __init__(self, header, cluster, address, memory):
        block = header.block
        word = lambda offset: struct.unpack_from("<Q", memory, offset)[0]
        self.address, self.cluster = address, cluster
        self.id, self.root, self.home = word(block.id), word(block.root), word(block.home)
        self.awaited = word(block.awaited)
        self.body, self.rare = word(block.body), word(block.rare)
        self.name = self.find_name(header)
        self.labels = self.find_labels(header)
        # The processor that runs it, or to which it goes when woken.
        self.processor = None
        # The kernel's number of the thread that runs it.
        self.thread = None
        # Whether it is on its stack.
        self.is_on = not word(block.pointer)
        # Where it has left its stack, and the address at which it goes on; nothing while it runs, and
        # before it has been on its stack.
        self.pointer, self.code = word(block.pointer), word(block.code)
        if self.is_on or self.pointer + FIBRE_PUSHED == self.root:
            self.pointer = None
        self.kinds = header.kinds

    def find_name(self, header):
        """Its name, or nothing."""
        try:
            if self.body == header.embedded:
                program = FibreMemory.word(self.address + header.program)
                data = FibreMemory.word(self.address + header.data)
                offset, length = struct.unpack("<II", FibreMemory.bytes(program + header.name_place, 8))
                if data and length:
                    name = FibreMemory.bytes(data + offset, length)
                    return name.split(b"\0")[0].decode("utf-8", "replace")
                return ""
            if self.rare:
                address, length = FibreMemory.words(self.rare + header.block.name, 2)
                return FibreMemory.text(address, length) if address else ""
        except gdb.MemoryError:
            pass
        return ""

    def find_labels(self, header):
        """What it says of itself, or nothing."""
        try:
            text = self.rare and FibreMemory.word(self.rare + header.block.labels)
            if text:
                length, = struct.unpack("<H", FibreMemory.bytes(text, 2))
                labels = FibreMemory.text(text + header.block.label_bytes, length)
                return " ".join(labels.splitlines())
        except gdb.MemoryError:
            pass
        return ""

    @property
    def kind(self):
        """The number of the kind of what it waits for; zero for nothing."""
        return self.awaited & 0x7F if self.thread is None else 0

    @property
    def object(self):
        """The address of what it waits for, or nothing."""
        return 0 if self.awaited >> 63 else self.awaited >> 16

    @property
    def owner(self):
        """The number of the fibre or thread that has what it waits for, or nothing."""
        place = self.awaited >> 8 & 0xFF
        if not self.kind or not place or not self.object:
            return 0
        try:
            return FibreMemory.word(self.object + 8 * (place - 1))
        except gdb.MemoryError:
            return 0

    def awaited_words(self):
        """What it waits for, in words."""
        kind = self.kind - 1
        words = self.kinds[kind] if kind < len(self.kinds) else "something"
        if self.awaited >> 63:
            return "%s (%d)" % (words, self.awaited >> 16 & 0xFFFFFFFF)
        return "%s at %#x" % (words, self.object) if self.object else words

    def state(self):
        """What it does, in words."""
        if self.thread is not None:
            return "runs on thread %d" % self.thread
        if self.kind:
            return "waits for " + self.awaited_words()
        return "is ready"

    def title(self):
        """Its number and its name."""
        return 'fibre %d "%s"' % (self.id, self.name) if self.name else "fibre %d" % self.id

    def labelled(self):
        """Its number, its name and its labels."""
        return "%s [%s]" % (self.title(), self.labels) if self.labels else self.title()

    def place(self):
        """Where it belongs."""
        processor = "" if self.processor is None else "processor %d of " % self.processor
        return '%scluster "%s"' % (processor, self.cluster.name)


class FibreCluster:
    """A cluster of processors."""

    def __init__(self, address):
        (self.next, self.number, name, length, self.shared, first,
         capacity) = FibreMemory.words(address, 7)
        self.name = FibreMemory.text(name, length)
        processors = FibreMemory.bytes(first, 32 * capacity)
        records = struct.iter_unpack("<Qi4xQQ", processors)
        self.processors = [FibreProcessor(at, record) for at, record in enumerate(records)]

    def fibre_lists(self):
        """The lists of its fibres."""
        if self.shared:
            return [self.shared]
        return [processor.fibre_list for processor in self.processors if processor.fibre_list]


class FibreProcessor:
    """A processor, and the address of the fibre that it runs."""

    def __init__(self, index, record):
        self.index = index
        self.queue, self.thread, running, self.fibre_list = record
        self.running = FibreMemory.word(running) if running else 0


class Fibres:
    """All fibres of the process, as they are now."""

    def __init__(self):
        self.all = []
        headers = FibreHeader.all()
        if not headers:
            raise gdb.GdbError("fibre: there are no fibres: the program does not run, or has none")
        for header in headers:
            self.read(header)
        self.all.sort(key=lambda fibre: fibre.id)
        self.by_id = {fibre.id: fibre for fibre in self.all}

    def read(self, header):
        """Adds the fibres of one runtime."""
        fibres, at, seen = [], FibreMemory.word(header.clusters), set()
        while at and at not in seen:
            seen.add(at)
            cluster = FibreCluster(at)
            fibres += self.of_cluster(header, cluster)
            at = cluster.next
        self.all += fibres

    @staticmethod
    def of_cluster(header, cluster):
        """The fibres of a cluster."""
        block = header.block
        length = max(block[:9]) + 8
        running = {processor.running: processor for processor in cluster.processors}
        homes = {processor.queue: processor for processor in cluster.processors}
        found, seen = [], set()
        for fibre_list in cluster.fibre_lists():
            hook = FibreMemory.word(fibre_list + block.first)
            while hook and hook not in seen:
                seen.add(hook)
                address = hook - block.hook
                fibre = Fibre(header, cluster, address, FibreMemory.bytes(address, length))
                runs = running.get(address)
                home = runs or homes.get(fibre.home)
                fibre.processor = home.index if home else None
                # One that has left its stack is about to run, or has just run.
                fibre.thread = runs.thread if runs and fibre.is_on else None
                found.append(fibre)
                hook = FibreMemory.word(hook + block.next)
        return found

    def get(self, number):
        """The fibre with a number."""
        if number not in self.by_id:
            raise gdb.GdbError("fibre: there is no fibre %d that has started and not ended" % number)
        return self.by_id[number]

    def title(self, number):
        """What to call the owner of something."""
        fibre = self.by_id.get(number)
        return fibre.title() if fibre else "fibre or thread %d" % number

    def describe(self, fibre):
        """A fibre in one line."""
        owner = fibre.owner
        held = "" if not owner else ", " + (
            "which is " if "the end of" in fibre.awaited_words() else "held by ") + self.title(owner)
        return "%s %s%s; %s" % (fibre.labelled(), fibre.state(), held, fibre.place())

    def cycles(self):
        """Lists of fibres, each of which waits for what the next one has."""
        met, cycles = {}, []
        for first in self.all:
            path, at = [], first
            while at is not None and at.id not in met:
                met[at.id] = first.id
                path.append(at)
                at = self.by_id.get(at.owner)
            if at in path:
                cycles.append(path[path.index(at):])
        return cycles


class FibreId:
    """What gdb calls a frame."""

    def __init__(self, sp, pc):
        self.sp, self.pc = gdb.Value(sp), gdb.Value(pc)


class FibreUnwinder(gdb.unwinder.Unwinder):
    """Shows a fibre that does not run behind the innermost frame of a thread."""

    def __init__(self):
        super().__init__("fibre")
        self.fibre = self.thread = self.top = None

    def show(self, fibre):
        """Shows a fibre behind the selected thread's innermost frame, from now on."""
        self.hide()
        thread = gdb.selected_thread()
        if thread is None:
            raise gdb.GdbError("fibre: there is no thread behind which the fibre could be shown")
        top = gdb.newest_frame()
        self.top = int(top.read_register("rsp")), int(top.pc())
        self.thread, self.fibre = thread.ptid, fibre
        FIBRE_FILTER.enabled = True
        gdb.invalidate_cached_frames()

    def hide(self):
        """Shows no fibre any more."""
        if self.fibre is not None:
            self.fibre = None
            FIBRE_FILTER.enabled = False
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        fibre, thread = self.fibre, gdb.selected_thread()
        if fibre is None or thread is None or thread.ptid != self.thread:
            return None
        stack, code = pending.read_register("rsp"), pending.read_register("rip")
        where = int(stack), int(code)
        if where == self.top:
            rbx, rbp = FibreMemory.words(fibre.pointer, 2)
            registers = {"rip": fibre.code, "rbx": rbx, "rbp": rbp, "rsp": fibre.pointer + FIBRE_PUSHED}
            # Below all frames of the fibre, as a function that it had called would be.
            frame = FibreId(fibre.pointer, fibre.code)
        else:
            return None
        info = pending.create_unwind_info(frame)
        for name, value in registers.items():
            info.add_saved_register(name, gdb.Value(value).cast((code if name == "rip" else stack).type))
        return info


class FibreFilter:
    """Leaves out of `bt` what is not the shown fibre's."""

    def __init__(self):
        self.name, self.enabled, self.priority = "fibre", False, 1000

    @staticmethod
    def filter(frames):
        """The frames of the fibre."""
        fibre, borrowed = FIBRE_UNWINDER.fibre, True
        for frame in frames:
            inferior = frame.inferior_frame()
            if fibre is None:
                return
            if not borrowed:
                yield frame
            # Functions that are inlined there have frames of their own.
            borrowed = borrowed and inferior.type() == gdb.INLINE_FRAME


class FibreStack:
    """The frames of a fibre, the innermost one first, and why there are no more."""

    Frame = collections.namedtuple("Frame", "level address name file line inlined")

    ENTRY = "the fibre's entry"

    def __init__(self, fibre):
        self.frames, self.end = [], None
        if fibre.thread is None and fibre.pointer is None:
            self.end = "not read: it is not known where it has left its stack"
            return
        # Above the root of its stack is the address of the fibre that is on it.
        if fibre.thread is None and not FibreMemory.word(fibre.root):
            self.end = ("not read: its stack is not in the core file; gdb's gcore leaves out stacks whose "
                        "guards the kernel makes, unless the program ran with FIBRE_GUARD=mprotect")
            return
        before = gdb.selected_thread()
        selected = FIBRE_UNWINDER.fibre
        try:
            with_fibre(fibre)
            self.walk(fibre)
        finally:
            FIBRE_UNWINDER.hide()
            if before is not None:
                before.switch()
            if selected is not None:
                FIBRE_UNWINDER.show(selected)

    def walk(self, fibre):
        """Collects the frames."""
        frame, level, reason, stack = gdb.newest_frame(), 0, None, 0
        try:
            if fibre.thread is None:
                level = fibre_borrowed()
                for _ in range(level):
                    frame = frame.older()
            while frame is not None:
                self.frames.append(self.describe(frame, level))
                reason, stack = frame.unwind_stop_reason(), int(frame.read_register("rsp"))
                frame, level = frame.older(), level + 1
        except gdb.error as error:
            self.end = "cut off: %s" % error
            return
        # The first function on the stack has no caller, as its table says, nor has the C library's.
        is_first = reason == gdb.FRAME_UNWIND_OUTERMOST and 0 <= fibre.root - stack <= FIBRE_FIRST
        if is_first:
            self.end = self.ENTRY
        else:
            self.end = "cut off: " + gdb.frame_stop_reason_string(reason)

    @classmethod
    def describe(cls, frame, level):
        """One frame."""
        address, line = frame.pc(), frame.find_sal()
        module = gdb.solib_name(address) or ""
        name = frame.name() or "%#x in %s" % (address, module or "the program")
        file = line.symtab.filename if line.symtab else module
        inlined = frame.type() == gdb.INLINE_FRAME
        return cls.Frame(level, address, name, file, line.line if line.symtab else 0, inlined)

    @staticmethod
    def is_runtime(frame):
        """Whether a frame is the runtime's."""
        return frame.name.lstrip("<&").startswith(FIBRE_RUNTIME) or bool(FIBRE_FILES.search(frame.file))

    @classmethod
    def is_caller(cls, frame):
        """Whether a frame may lead from the fibre's entry to its closure."""
        return (cls.is_runtime(frame) or frame.name.lstrip("<&").startswith(FIBRE_CALLERS)
                or fibre_short(frame.file).startswith(FIBRE_STD))

    def shown(self):
        """The frames without the runtime's own: from the call that the program has made on."""
        frames = self.frames
        program = [at for at, frame in enumerate(frames) if not self.is_runtime(frame)]
        if not program:
            return frames
        lower, upper = max(program[0] - 1, 0), len(frames)
        if self.end == self.ENTRY:
            while upper > lower + 1 and self.is_caller(frames[upper - 1]):
                upper -= 1
        return frames[lower:upper]

    def key(self):
        """What equal stacks have in common."""
        return tuple(frame.address for frame in self.frames), self.end

    def lines(self, whole):
        """The stack as text; `whole`: with the runtime's frames, and with addresses."""
        outer = True
        for frame in self.frames if whole else self.shown():
            address = "%#x " % frame.address if whole and outer else ""
            outer = not frame.inlined
            name = frame.name if whole else fibre_cut(frame.name)
            place = " at %s:%d" % (fibre_short(frame.file), frame.line) if frame.line else ""
            yield "    #%-3d %s%s%s" % (frame.level, address, name, place)
        yield "         " + self.end


def fibre_borrowed():
    """How many frames of the selected thread come before those of the fibre that is shown."""
    frame, count = gdb.newest_frame(), 1
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame, count = frame.older(), count + 1
    return count


def fibre_cut(name):
    """A name without its hash, and with so few generic arguments that it is not long, or with none."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    name = name.replace("->", "-\x01")
    while len(name) > FIBRE_LONG:
        shorter = re.sub(r"<[^<>]+>", "\x00", name)
        if shorter == name:
            break
        name = shorter
    name = name.replace("\x00", "<…>").replace("\x01", ">")
    return name if len(name) <= 2 * FIBRE_LONG else name[:FIBRE_LONG] + "…" + name[-FIBRE_LONG // 2:]


def fibre_short(file):
    """A file's name without the folders that mean nothing to the reader."""
    return re.sub(r"^.*/registry/src/[^/]*/|^/rustc/[^/]*/library/", "", file)


def with_fibre(fibre):
    """Has gdb's commands see this fibre."""
    if fibre.thread is not None:
        FIBRE_UNWINDER.hide()
        for thread in gdb.selected_inferior().threads():
            if thread.ptid[1] == fibre.thread:
                thread.switch()
                return
        raise gdb.GdbError("fibre: its thread %d is not there" % fibre.thread)
    if fibre.pointer is None:
        raise gdb.GdbError("fibre: it is not known where %s has left its stack" % fibre.title())
    FIBRE_UNWINDER.show(fibre)


class FibresCommand(gdb.Command):
    """List the fibres of the program: `fibres`, or with their stacks `fibres bt`.

Each fibre that has started is shown with what it does or waits for; equal stacks are shown once.
`fibres bt all` shows the runtime's frames, too, and addresses."""

    def __init__(self):
        super().__init__("fibres", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        words = argument.split()
        if words not in ([], ["bt"], ["bt", "all"]):
            raise gdb.GdbError("usage: fibres [bt [all]]")
        fibres = Fibres()
        if words:
            self.stacks(fibres, whole=len(words) > 1)
            return
        for fibre in fibres.all:
            print(fibres.describe(fibre))
        print("%d fibres have started and not ended" % len(fibres.all))

    @staticmethod
    def stacks(fibres, whole):
        """Prints all stacks: what few fibres do comes first."""
        groups = collections.OrderedDict()
        for fibre in fibres.all:
            stack = FibreStack(fibre)
            key = fibre.cluster.number, fibre.thread, fibre.kind, stack.key()
            groups.setdefault(key, (stack, []))[1].append(fibre)
        order = sorted(groups.values(), key=lambda group: (group[1][0].thread is None, len(group[1])))
        for stack, members in order:
            if len(members) == 1:
                print(fibres.describe(members[0]))
            else:
                named = ", ".join(str(fibre.id) for fibre in members[:FIBRE_NAMED])
                more = ", …" if len(members) > FIBRE_NAMED else ""
                print("%d fibres with this stack: %s%s" % (len(members), named, more))
                print("  " + fibres.describe(members[0]))
            print("\n".join(stack.lines(whole)) + "\n")


class FibreCommand(gdb.Command):
    """Look at one fibre: `fibre N` selects it, `fibre N COMMAND` runs a command of gdb for it.

fibre N bt    prints its stack; `fibre N bt all` with the runtime's frames and addresses
fibre N       shows it behind the selected thread, so that `bt`, `frame`, `info locals` are about it
fibre off     shows the selected thread again
fibre locks   lists what fibres wait for, with the owners that are known
fibre cycle   finds fibres that wait for each other

No register is written, and the program does not run meanwhile."""

    def __init__(self):
        super().__init__("fibre", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        first, _, rest = argument.strip().partition(" ")
        if first == "locks":
            self.locks(Fibres())
        elif first == "cycle":
            self.cycle(Fibres())
        elif first == "off":
            FIBRE_UNWINDER.hide()
        elif first.isdigit():
            self.look(Fibres(), int(first), rest.strip())
        elif not first:
            shown = FIBRE_UNWINDER.fibre
            print("%s is shown" % shown.title() if shown else "no fibre is shown")
        else:
            raise gdb.GdbError("usage: fibre N [COMMAND] | off | locks | cycle")

    @staticmethod
    def look(fibres, number, command):
        """Selects a fibre, for one command if there is one."""
        fibre = fibres.get(number)
        words = command.split()
        if words in (["bt"], ["bt", "all"]):
            print(fibres.describe(fibre))
            print("\n".join(FibreStack(fibre).lines(whole=len(words) > 1)))
            return
        if not command:
            with_fibre(fibre)
            print(fibres.describe(fibre))
            return
        before = gdb.selected_thread()
        try:
            with_fibre(fibre)
            if fibre.thread is None:
                gdb.execute("up-silently %d" % fibre_borrowed())
            gdb.execute(command)
        finally:
            FIBRE_UNWINDER.hide()
            if before is not None:
                before.switch()

    @staticmethod
    def locks(fibres):
        """Prints what is waited for, and who has it."""
        waiters = collections.OrderedDict()
        for fibre in fibres.all:
            if fibre.kind in FIBRE_OBJECTS and fibre.object:
                waiters.setdefault((fibre.kind, fibre.object), []).append(fibre)
        for members in waiters.values():
            owner = next((fibre.owner for fibre in members if fibre.owner), 0)
            held = ", held by " + fibres.title(owner) if owner else ""
            print("%s%s" % (members[0].awaited_words(), held))
            for fibre in members[:FIBRE_NAMED]:
                print("    %s waits for it" % fibre.title())
            if len(members) > FIBRE_NAMED:
                print("    and %d more" % (len(members) - FIBRE_NAMED))
        if not waiters:
            print("no fibre waits for a lock or another object")

    @staticmethod
    def cycle(fibres):
        """Prints the circles of fibres that wait for each other."""
        cycles = fibres.cycles()
        for cycle in cycles:
            names = [fibre.title() for fibre in cycle + cycle[:1]]
            print("they wait for each other: " + " -> ".join(names))
            for fibre in cycle:
                print("    " + fibres.describe(fibre))
        if not cycles:
            print("no fibres wait for each other, as far as owners are known")


FIBRE_FILTER = FibreFilter()
FIBRE_UNWINDER = FibreUnwinder()
gdb.unwinder.register_unwinder(None, FIBRE_UNWINDER, replace=True)
gdb.frame_filters["fibre"] = FIBRE_FILTER
FibresCommand()
FibreCommand()


def fibre_forget(_):
    """What was shown is not there any more."""
    FIBRE_UNWINDER.hide()


gdb.events.cont.connect(fibre_forget)
gdb.events.exited.connect(fibre_forget)
