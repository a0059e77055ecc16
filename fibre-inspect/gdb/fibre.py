"""Fibres in gdb: `fibres`, `fibres bt`, `fibre N COMMAND`, `fibre N local NAME`, `fibre locks`, `fibre cycle`.

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
import os
import re
import struct

import gdb
import gdb.unwinder

FIBRE_MAGIC = b"fibre\0\0\0"
FIBRE_VERSION = 4

# The kinds of what fibres wait for that are objects with an address, by their numbers: mutex, lock,
# condition variable, semaphore, barrier, event, wait group, notification, initialisation, channel.
FIBRE_OBJECTS = range(2, 12)

# The most bytes between the place where a fibre's frames begin and that of the first function.
FIBRE_FIRST = 4096

# The bytes that a switch pushes: the registers RBX and RBP.
FIBRE_PUSHED = 16

# The number of the first thread control block that is a fibre's: no thread of the kernel's has one as
# high. In a core file libthread_db tells gdb of these blocks as of threads.
FIBRE_FIRST_BLOCK = 1 << 22

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

    FIXED = struct.Struct("<8sIIQQQQQIIII")
    BLOCK = collections.namedtuple(
        "Block",
        "id home pointer code awaited root since body rare name labels label_bytes shown hook next"
        " first",
    )

    def __init__(self, address):
        memory = FibreMemory.bytes(address, self.FIXED.size)
        (magic, version, length, self.clusters, kinds, kind_count, self.embedded, departed,
         self.program, self.data, self.name_place, self.thread_word) = self.FIXED.unpack(memory)
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
        self.departed, = struct.unpack("<q", FibreMemory.bytes(departed, 8))

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
        # The processor that runs it, or to which it goes when woken; and the kernel's number of the
        # thread of that.
        self.processor = self.processor_thread = None
        # The kernel's number of the thread that runs it.
        self.thread = None
        # Whether it is on its stack.
        self.is_on = not word(block.pointer)
        # The thread pointer of its thread block, if it has thread-locals of its own; and where its
        # frames begin, the highest address.
        self.thread_pointer, self.base = self.find_thread_block(header)
        # Where it has left its stack, and the address at which it goes on; nothing while it runs, and
        # before it has been on its stack.
        self.pointer, self.code = word(block.pointer), word(block.code)
        if self.is_on or self.pointer + FIBRE_PUSHED == self.base:
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

    def find_thread_block(self, header):
        """Its thread pointer, or nothing; and where its frames begin."""
        try:
            pointer = header.departed and FibreMemory.word(self.root + header.thread_word)
            if pointer:
                return pointer, FibreMemory.word(pointer + header.departed) & ~15
        except gdb.MemoryError:
            pass
        return None, self.root

    def find_labels(self, header):
        """What it says of itself, and its scoped values that are shown, or nothing."""
        found = []
        try:
            labels = self.rare and FibreMemory.word(self.rare + header.block.labels)
            slot = self.rare and FibreMemory.word(self.rare + header.block.shown)
            for text in labels, slot and FibreMemory.word(slot):
                if text:
                    length, = struct.unpack("<H", FibreMemory.bytes(text, 2))
                    lines = FibreMemory.text(text + header.block.label_bytes, length).splitlines()
                    keys = [line.partition("=")[0] for line in found]
                    found += [line for line in lines if line.partition("=")[0] not in keys]
        except gdb.MemoryError:
            pass
        return " ".join(found)

    def shared_thread_pointer(self):
        """The thread pointer of its processor's thread, for a fibre without thread-locals of its own."""
        number = self.processor_thread
        thread = next((one for one in gdb.selected_inferior().threads() if one.ptid[1] == number), None)
        before = gdb.selected_thread()
        if thread is None or before is None:
            raise gdb.GdbError("fibre: the thread of %s is not known, which has its thread-locals" % self.title())
        try:
            thread.switch()
            return int(gdb.parse_and_eval("$fs_base"))
        finally:
            before.switch()

    @property
    def kind(self):
        """The number of the kind of what it waits for; zero for nothing."""
        return self.awaited & 0x3F if self.thread is None else 0

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
                if home:
                    fibre.processor, fibre.processor_thread = home.index, home.thread
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


class FibreElf:
    """A file of a program or a library: its symbols."""

    HEADER_LENGTH, BEGIN = 64, b"\x7fELF\x02\x01"
    SECTION = struct.Struct("<IIQQQQIIQQ")
    SYMBOL = struct.Struct("<IBBHQQ")
    TABLES, THREAD_LOCAL = (2, 11), 6

    # By the names of files: they stay while gdb runs.
    thread_locals = {}

    @classmethod
    def of(cls, file):
        """The thread-locals of a file: the names that linkers know, offsets and sizes."""
        if file not in cls.thread_locals:
            every = cls.symbols(file)
            cls.thread_locals[file] = [
                (name, value, size) for name, kind, value, size in every
                if kind == cls.THREAD_LOCAL and size]
        return cls.thread_locals[file]

    @classmethod
    def symbols(cls, file):
        """All symbols of a file: names, types, values and sizes. None, if it cannot be read."""
        try:
            with open(file, "rb") as stream:
                head = stream.read(cls.HEADER_LENGTH)
                if len(head) < cls.HEADER_LENGTH or not head.startswith(cls.BEGIN):
                    return []
                stream.seek(struct.unpack_from("<Q", head, 40)[0])
                size, count = struct.unpack_from("<HH", head, 58)
                table = stream.read(size * count)
                sections = [cls.SECTION.unpack_from(table, at) for at in range(0, len(table), size)]
                found = []
                for section in sections:
                    if section[1] in cls.TABLES:
                        found += cls.of_section(stream, section, sections)
                return found
        except (OSError, ValueError, IndexError, struct.error):
            return []

    @classmethod
    def of_section(cls, stream, section, sections):
        """The symbols of one table."""
        content = lambda one: (stream.seek(one[4]), stream.read(one[5]))[1]
        table, names = content(section), content(sections[section[6]])
        whole = len(table) - len(table) % cls.SYMBOL.size
        for name, info, _, _, value, size in cls.SYMBOL.iter_unpack(table[:whole]):
            end = names.find(b"\0", name)
            yield names[name:end].decode("ascii", "replace"), info & 15, value, size


class FibreModules:
    """Where modules have their thread-locals in a thread, as the C library's loader notes it."""

    # A word of the loader's that stands for no memory.
    NOWHERE = 0, 2 ** 64 - 1

    def __init__(self):
        self.maps, self.fields = [], {}
        at, seen = FibreMemory.word(fibre_symbol("_r_debug") + 8), set()
        while at and at not in seen:
            seen.add(at)
            _, name, _, following = FibreMemory.words(at, 4)
            self.maps.append((at, self.name(name)))
            at = following
        for field in "l_tls_modid", "l_tls_offset":
            # What the C library says to debuggers: bits, how many of them, and where.
            described = FibreMemory.bytes(fibre_symbol("_thread_db_link_map_" + field), 12)
            self.fields[field] = struct.unpack("<3I", described)[2]

    @staticmethod
    def name(address):
        """The name of a module's file."""
        length = 0
        while length < 4096 and FibreMemory.bytes(address + length, 1) != b"\0":
            length += 1
        return FibreMemory.text(address, length)

    def place(self, file, thread_pointer):
        """Where a file's thread-locals begin in the thread with this thread pointer, or nothing."""
        same = lambda name: os.path.realpath(name) == os.path.realpath(file)
        is_program = lambda name: not name and file == gdb.current_progspace().filename
        module = next((at for at, name in self.maps if is_program(name) or name and same(name)), None)
        if module is None:
            raise gdb.GdbError("fibre: %s is not among the modules that the loader knows" % file)
        index = FibreMemory.word(module + self.fields["l_tls_modid"])
        vector = FibreMemory.word(thread_pointer + 8)
        # The entry before the first one says how many there are.
        if index <= FibreMemory.word(vector - 16):
            place = FibreMemory.word(vector + 16 * index)
            if place not in self.NOWHERE:
                return place
        distance = FibreMemory.word(module + self.fields["l_tls_offset"])
        return None if distance in self.NOWHERE else thread_pointer - distance


class FibreVariable:
    """A thread-local of the program or of a library."""

    # What names of thread-locals of Rust end with.
    RUST = "__RUST_STD_INTERNAL_VAL"

    # What std puts around a value.
    WRAPPERS = re.compile(
        r"std::sys::thread_local::|core::cell::UnsafeCell<|core::mem::(maybe_uninit|manually_drop|maybe_dangling)::")

    def __init__(self, file, symbol, offset, size):
        self.file, self.symbol, self.offset, self.size = file, symbol, offset, size
        self.whole = fibre_demangle(symbol)
        parts = [part for part in self.whole.split("::") if not part.startswith("{")]
        self.path = "::".join(part for part in parts if part != self.RUST)

    @classmethod
    def find(cls, name):
        """Those with this name, or with a path that ends so."""
        last, found = name.rpartition("::")[2], {}
        for objfile in gdb.objfiles():
            # Symbols may be in a file of their own.
            file = (objfile.owner or objfile).filename
            for symbol, offset, size in FibreElf.of(objfile.filename):
                if last in symbol and (file, offset) not in found:
                    variable = cls(file, symbol, offset, size)
                    if ("::" + variable.path).endswith("::" + name):
                        found[file, offset] = variable
        return list(found.values())

    def type(self):
        """Its type, if debug information has that."""
        whole = re.sub(r"\{K#", "{constant#", self.whole)
        names = {whole, self.symbol}
        for number in range(4):
            counted = whole.replace("{{constant}}", "{constant#0}")
            names.add(counted.replace("{{closure}}", "{closure#%d}" % number))
        for name in sorted(names):
            for symbol in gdb.lookup_static_symbols(name) + [gdb.lookup_global_symbol(name)]:
                # std makes more than one of the same name, and programs use one.
                if symbol is not None and symbol.linkage_name in (self.symbol, name) and symbol.type.sizeof:
                    return symbol.type
        return None

    def text(self, address):
        """Its value at an address, in words."""
        kind = self.type()
        if kind is None:
            numbers = FibreMemory.bytes(address, self.size)
            width = next(width for width in (8, 4, 2, 1) if self.size % width == 0)
            words = [int.from_bytes(numbers[at:at + width], "little") for at in range(0, self.size, width)]
            return "%d bytes: %s" % (self.size, " ".join("%#x" % word for word in words))
        whole = gdb.Value(address).cast(kind.pointer()).dereference()
        before = gdb.parameter("language")
        try:
            if self.RUST in self.symbol:
                gdb.execute("set language rust", to_string=True)
            value = self.unwrapped(whole)
            if value is None:
                return "not made yet, or destroyed"
            gdb.set_convenience_variable("local", value)
            return value.format_string()
        finally:
            gdb.execute("set language " + before, to_string=True)

    @classmethod
    def unwrapped(cls, value):
        """A value without what std has put around it; nothing, if it is not there."""
        while cls.WRAPPERS.match(value.type.name or ""):
            fields = [field.name for field in value.type.fields()]
            if "lazy::Storage<" in value.type.name and "::Alive" not in value["state"].format_string():
                return None
            inner = next((name for name in ("value", "val", "__0") if name in fields), None)
            if inner is None:
                break
            value = value[inner]
        return value


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
        if thread.ptid[1] >= FIBRE_FIRST_BLOCK:
            raise gdb.GdbError("fibre: thread %d is none of the kernel's, but the thread-locals of a fibre: "
                               "select another one" % thread.num)
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
        is_first = reason == gdb.FRAME_UNWIND_OUTERMOST and 0 <= fibre.base - stack <= FIBRE_FIRST
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


def fibre_symbol(name):
    """The address of a symbol, whatever the language is."""
    try:
        said = gdb.execute("with language c -- output (long) &%s" % name, to_string=True)
        # Beside the number there may be a warning: the frame's language is another one.
        return int(re.search(r"\d+", said).group())
    except (gdb.error, AttributeError):
        raise gdb.GdbError("fibre: the C library has no symbol %s, as glibc has" % name) from None


def fibre_demangle(symbol):
    """A symbol as the program writes it, without hashes."""
    name = symbol
    for language in ("rust", "gnu-v3") if symbol.startswith(("_ZN", "_R")) else ():
        try:
            name = gdb.execute("demangle -l %s -- %s" % (language, symbol), to_string=True).strip()
            break
        except gdb.error:
            pass
    return re.sub(r"\[[0-9a-f]+\]|::h[0-9a-f]{16}$", "", name)


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
        blocks = [one for one in gdb.selected_inferior().threads() if one.ptid[1] >= FIBRE_FIRST_BLOCK]
        if blocks:
            print("%d of gdb's threads are none of the kernel's, but thread-locals of fibres; there are none with "
                  "`set libthread-db-search-path /` before the core file is loaded" % len(blocks))

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
fibre N local NAME    prints a thread-local of its own, which is $local then
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
        if words[0] == "local":
            if len(words) != 2:
                raise gdb.GdbError("usage: fibre N local NAME")
            FibreCommand.local(fibres, fibre, words[1])
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
    def local(fibres, fibre, name):
        """Prints thread-locals of a fibre, by a name or the end of a path."""
        variables = FibreVariable.find(name)
        if not variables:
            raise gdb.GdbError("fibre: no symbol of the program is a thread-local %s" % name)
        thread_pointer, whose = fibre.thread_pointer, ""
        if thread_pointer is None:
            thread_pointer, whose = fibre.shared_thread_pointer(), ", of all fibres of its processor"
        modules = FibreModules()
        for variable in variables:
            place = modules.place(variable.file, thread_pointer)
            if place is None:
                print("%s: %s has not used it" % (variable.path, fibre.title()))
                continue
            address = place + variable.offset
            print("%s at %#x%s = %s" % (variable.path, address, whose, variable.text(address)))

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
