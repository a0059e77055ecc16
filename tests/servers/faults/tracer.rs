//! Runs a process under `ptrace` and changes what the kernel answers it, as a plan says.
//!
//! A traced call stops twice: before the kernel sees it, where it can be changed or left out, and
//! behind it, where its result can. What the process had in its registers is put back in any
//! case, since compilers rely on it.
//!
//! The kernel never says "would block" or stops short without an event that follows. So before the
//! tracer does, it has the thread re-arm the descriptor (`EPOLL_CTL_MOD`), which has the kernel
//! tell of it again if there is something; then the thread's own call goes on.

use super::plan::{Fault, Plan, Rule, Scope};
use super::seat::{ASK, Question, ROLE};
use super::support::Random;
use super::support::process::child;
use libc::user_regs_struct as Registers;
use nix::errno::Errno as NixErrno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek};
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// An event of epoll, as the kernel lays it out: flags and data.
const EVENT: usize = 12;

/// What a call returns that a signal has ended.
const INTERRUPTED: i64 = -(libc::EINTR as i64);

/// What the kernel notes of a call that it will make again after a signal: `ERESTART_RESTARTBLOCK`
/// to `ERESTARTSYS`.
const RESTARTS: RangeInclusive<i64> = -516..=-512;

/// What a thread is about to do behind its next stop.
#[derive(Clone, Copy)]
enum Pending {
    /// Nothing that concerns us.
    Nothing,
    /// It re-arms a descriptor instead of its call, which then says that it would block.
    Refuse(Registers),
    /// It re-arms a descriptor before its call, which is to be about so little.
    Shorten(Registers, u64),
    /// It comes again with that call.
    Shortened(u64),
    /// Its call is under way, and this goes back into the register of the length.
    Restore(u64),
    /// It waits for events, which will be scrambled.
    Scramble,
    /// It will be kept for so long.
    Keep(Duration),
    /// It waits, and will be disturbed.
    Disturb,
}

/// A registration with an epoll instance.
struct Registration {
    epoll: u64,
    event: [u8; EVENT],
}

/// See the module text.
struct Tracer<'a> {
    plan: &'a Plan,
    random: Random,
    process: Pid,
    threads: HashMap<Pid, Pending>,
    /// Registrations by descriptor.
    registrations: HashMap<u64, Registration>,
    /// Threads that are kept, and until when.
    kept: Vec<(Instant, Pid)>,
    /// Threads that will be disturbed in their calls, and when.
    disturbed: Vec<(Instant, Pid)>,
    /// Whether the child has asked for faults.
    on: bool,
    /// Whether there has been none since: then chance is not asked.
    due: bool,
    faults: u64,
}

/// Runs the calling test once more, under a plan. Panics unless that succeeds.
#[track_caller]
pub fn run(plan: &Plan, environment: &[(&str, &str)]) {
    let (code, said) = trace(plan, environment);
    assert_eq!(code, Some(0), "{said}");
}

/// Runs the calling test once more, under a plan. Returns its exit code, `None` if it was killed,
/// and what it said.
pub fn trace(plan: &Plan, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut random = Random::new(Random::seed());
    let output = memory_file();
    let mut command = child(ROLE, environment);
    command.env("FIBRE_SEED", (random.next() >> 1).to_string());
    command.stdout(output.try_clone().unwrap());
    command.stderr(output.try_clone().unwrap());
    // SAFETY: one system call.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    #[allow(
        clippy::zombie_processes,
        reason = "the tracer waits for it by its number"
    )]
    let process = command.spawn().unwrap_or_else(|error| {
        panic!("cannot trace a program: {error}; these tests need ptrace, and not to be traced themselves")
    });
    let mut tracer = Tracer {
        plan,
        random,
        process: Pid::from_raw(process.id() as i32),
        threads: HashMap::new(),
        registrations: HashMap::new(),
        kept: Vec::new(),
        disturbed: Vec::new(),
        on: false,
        due: false,
        faults: 0,
    };
    let code = tracer.run();
    let faults = tracer.faults;
    (code, format!("{faults} faults\n{}", text_of(output)))
}

/// Where files are that may be concerned.
pub fn scratch_folder() -> String {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    folder.display().to_string()
}

/// Where a process can write to.
fn memory_file() -> File {
    rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)
        .unwrap()
        .into()
}

/// What has been written there.
fn text_of(mut file: File) -> String {
    let mut text = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

impl Tracer<'_> {
    /// Follows the process to its end; returns its exit code, if it was not killed.
    fn run(&mut self) -> Option<i32> {
        waitpid(self.process, None).unwrap();
        self.threads.insert(self.process, Pending::Nothing);
        let options = Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACESECCOMP
            | Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(self.process, options).unwrap();
        go_on(self.process, None);
        loop {
            match self.next_stop() {
                WaitStatus::Exited(thread, code) if thread == self.process => return Some(code),
                WaitStatus::Signaled(thread, _, _) if thread == self.process => return None,
                WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, _, _) => {
                    self.threads.remove(&thread);
                }
                WaitStatus::PtraceEvent(thread, _, event) => {
                    if event == ptrace::Event::PTRACE_EVENT_SECCOMP as i32 {
                        self.before_call(thread);
                    } else {
                        go_on(thread, None);
                    }
                }
                WaitStatus::PtraceSyscall(thread) => self.behind_call(thread),
                WaitStatus::Stopped(thread, signal) => {
                    self.threads.entry(thread).or_insert(Pending::Nothing);
                    // With that one new threads begin, and are disturbed.
                    let ours = signal == Signal::SIGSTOP;
                    go_on(thread, (!ours).then_some(signal));
                }
                _ => {}
            }
        }
    }

    /// Waits for a thread that stops or ends. Meanwhile, those who are kept go on in their time.
    fn next_stop(&mut self) -> WaitStatus {
        let ours = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            let now = Instant::now();
            self.kept.retain(|(end, thread)| {
                let keep = *end > now;
                if !keep {
                    go_on(*thread, None);
                }
                keep
            });
            let process = self.process;
            self.disturbed.retain(|(begin, thread)| {
                let wait = *begin > now;
                if !wait {
                    disturb(process, *thread);
                }
                wait
            });
            let flags = if self.kept.is_empty() && self.disturbed.is_empty() {
                ours
            } else {
                ours | WaitPidFlag::WNOHANG
            };
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_micros(100)),
                Ok(status) => return status,
                Err(NixErrno::EINTR) => {}
                Err(errno) => panic!("waitpid: {errno}"),
            }
        }
    }

    /// A thread stands before a call.
    fn before_call(&mut self, thread: Pid) {
        let Ok(registers) = ptrace::getregs(thread) else {
            // It has been killed.
            return;
        };
        let pending = self.threads.insert(thread, Pending::Nothing);
        if let Some(Pending::Shortened(length)) = pending {
            self.watch(thread, Pending::Restore(length));
            return;
        }
        let number = registers.orig_rax as i64;
        if number == libc::SYS_prctl && registers.rdi as i64 == ASK {
            let answer = self.answer(registers.rsi);
            return answer_with(thread, registers, answer as i64);
        }
        match self.strike(number, &registers) {
            Some(fault) => {
                // A call that is to be disturbed may end before.
                if !matches!(fault, Fault::Disturbed(_)) {
                    self.struck();
                }
                self.inflict(thread, registers, fault);
            }
            None => {
                self.note(number, &registers);
                go_on(thread, None);
            }
        }
    }

    /// Notes that there was a fault.
    fn struck(&mut self) {
        self.faults += 1;
        self.due = false;
    }

    /// What the child asks.
    fn answer(&mut self, question: u64) -> u64 {
        if question == Question::Begin as u64 {
            (self.on, self.due) = (true, true);
        } else if question == Question::End as u64 {
            self.on = false;
        }
        self.faults
    }

    /// Notes what is registered where. What is closed is not registered any more: its number may be
    /// another descriptor's in a moment, and to re-arm that for the owner before would lose events.
    fn note(&mut self, number: i64, registers: &Registers) {
        if number == libc::SYS_close {
            self.registrations.remove(&registers.rdi);
        }
        if number != libc::SYS_epoll_ctl {
            return;
        }
        let descriptor = registers.rdx;
        if registers.rsi == libc::EPOLL_CTL_DEL as u64 {
            self.registrations.remove(&descriptor);
            return;
        }
        let mut event = [0; EVENT];
        self.peek(registers.r10, &mut event);
        let flags = u32::from_ne_bytes(event[..4].try_into().unwrap());
        if flags & libc::EPOLLET as u32 != 0 {
            let epoll = registers.rdi;
            self.registrations
                .insert(descriptor, Registration { epoll, event });
        }
    }

    /// What shall happen to this call.
    fn strike(&mut self, number: i64, registers: &Registers) -> Option<Fault> {
        if !self.on {
            return None;
        }
        let plan = self.plan;
        let rule = plan.rules.iter().find(|rule| {
            rule.calls.contains(&number)
                && (self.due || self.random.one_in(rule.one_in))
                && self.concerns(rule, registers)
        })?;
        let shrinks = registers.rdx > 1 && !matches!(number, libc::SYS_recvmsg | libc::SYS_sendmsg);
        (shrinks || !matches!(rule.fault, Fault::Short)).then_some(rule.fault)
    }

    /// Whether the rule is for calls like this one.
    fn concerns(&self, rule: &Rule, registers: &Registers) -> bool {
        match rule.scope {
            Scope::All => true,
            Scope::Streams => self.is_any_of(registers.rdi, &["socket:", "pipe:"]),
            Scope::Files => self.is_any_of(registers.rdi, &[&scratch_folder()]),
            Scope::Additions => registers.rsi == libc::EPOLL_CTL_ADD as u64,
            Scope::FutexWaits => {
                let operation = registers.rsi as i32 & libc::FUTEX_CMD_MASK;
                matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET)
            }
        }
    }

    /// Whether what a descriptor stands for begins like one of these.
    fn is_any_of(&self, descriptor: u64, kinds: &[&str]) -> bool {
        let link = format!("/proc/{}/fd/{descriptor}", self.process);
        let target = std::fs::read_link(link).unwrap_or_default();
        let target = target.to_string_lossy();
        kinds.iter().any(|kind| target.starts_with(kind))
    }

    /// Has a thread, which stands before a call, suffer a fault.
    fn inflict(&mut self, thread: Pid, registers: Registers, fault: Fault) {
        match fault {
            Fault::Fails(errnos) => {
                let errno = errnos[self.random.below(errnos.len())];
                answer_with(thread, registers, -i64::from(errno.raw_os_error()));
            }
            Fault::Spurious => answer_with(thread, registers, 0),
            Fault::Again if !self.rearm(thread, registers, Pending::Refuse(registers)) => {
                answer_with(thread, registers, -i64::from(Errno::AGAIN.raw_os_error()));
            }
            Fault::Again => {}
            Fault::Short => {
                let length = 1 + self.random.below(registers.rdx as usize - 1) as u64;
                if !self.rearm(thread, registers, Pending::Shorten(registers, length)) {
                    let mut shorter = registers;
                    shorter.rdx = length;
                    put(thread, shorter);
                    self.watch(thread, Pending::Restore(registers.rdx));
                }
            }
            Fault::Scrambled => self.watch(thread, Pending::Scramble),
            Fault::Late(time) => self.watch(thread, Pending::Keep(time)),
            Fault::Disturbed(time) => {
                self.disturbed.push((Instant::now() + time, thread));
                self.watch(thread, Pending::Disturb);
            }
        }
    }

    /// Lets a thread go on up to the end of its call.
    fn watch(&mut self, thread: Pid, pending: Pending) {
        self.threads.insert(thread, pending);
        let _ = ptrace::syscall(thread, None);
    }

    /// Has a thread re-arm the descriptor of its call instead, if it is registered; says whether.
    fn rearm(&mut self, thread: Pid, registers: Registers, pending: Pending) -> bool {
        let Some(registration) = self.registrations.get(&registers.rdi) else {
            return false;
        };
        // Below what the thread may have there without having moved the pointer.
        let place = (registers.rsp - 256) & !15;
        self.poke(place, &registration.event);
        let call = Registers {
            orig_rax: libc::SYS_epoll_ctl as u64,
            rdi: registration.epoll,
            rsi: libc::EPOLL_CTL_MOD as u64,
            rdx: registers.rdi,
            r10: place,
            ..registers
        };
        put(thread, call);
        self.watch(thread, pending);
        true
    }

    /// A thread stands behind a call.
    fn behind_call(&mut self, thread: Pid) {
        let Ok(now) = ptrace::getregs(thread) else {
            return;
        };
        let pending = self.threads.insert(thread, Pending::Nothing);
        match pending.unwrap_or(Pending::Nothing) {
            Pending::Nothing | Pending::Shortened(_) => {}
            Pending::Refuse(before) => {
                let rax = -i64::from(Errno::AGAIN.raw_os_error()) as u64;
                put(thread, Registers { rax, ..before });
            }
            Pending::Shorten(before, length) => {
                // Back to the instruction.
                let again = Registers {
                    rip: before.rip - 2,
                    rax: before.orig_rax,
                    orig_rax: u64::MAX,
                    rdx: length,
                    ..before
                };
                put(thread, again);
                self.threads.insert(thread, Pending::Shortened(before.rdx));
            }
            Pending::Restore(length) => put(thread, Registers { rdx: length, ..now }),
            Pending::Scramble => self.scramble(thread, now),
            Pending::Keep(time) => return self.kept.push((Instant::now() + time, thread)),
            Pending::Disturb => self.behind_disturbance(thread, now),
        }
        go_on(thread, None);
    }

    /// A call has ended that was to be disturbed, by that or before.
    fn behind_disturbance(&mut self, thread: Pid, registers: Registers) {
        self.disturbed.retain(|(_, disturbed)| *disturbed != thread);
        match registers.rax as i64 {
            INTERRUPTED => self.struck(),
            // The kernel would make it again.
            result if RESTARTS.contains(&result) => {
                self.struck();
                put(
                    thread,
                    Registers {
                        rax: 0,
                        ..registers
                    },
                );
            }
            _ => {}
        }
    }

    /// Changes the events that a thread has been given.
    fn scramble(&mut self, thread: Pid, registers: Registers) {
        let (count, room) = (registers.rax as i64, registers.rdx as usize);
        let Ok(count) = usize::try_from(count) else {
            return;
        };
        let mut bytes = vec![0; count * EVENT];
        self.peek(registers.rsi, &mut bytes);
        let mut events: Vec<[u8; EVENT]> = bytes
            .chunks_exact(EVENT)
            .map(|event| event.try_into().unwrap())
            .collect();
        let known: Vec<_> = self.registrations.values().map(|of| of.event).collect();
        for _ in 0..4 {
            let from = if self.random.one_in(2) {
                &events
            } else {
                &known
            };
            if events.len() < room && !from.is_empty() {
                let mut event = from[self.random.below(from.len())];
                if self.random.one_in(3) {
                    // Somebody who had the number before, or will have it.
                    event[8] = event[8]
                        .wrapping_add(self.random.below(5) as u8)
                        .wrapping_sub(2);
                }
                let all = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLHUP;
                let flags = (all as u32) & self.random.next() as u32;
                event[..4].copy_from_slice(&flags.to_ne_bytes());
                events.push(event);
            }
        }
        for place in (1..events.len()).rev() {
            events.swap(place, self.random.below(place + 1));
        }
        self.poke(registers.rsi, events.as_flattened());
        let rax = events.len() as u64;
        put(thread, Registers { rax, ..registers });
    }

    /// Reads memory of the process.
    fn peek(&self, place: u64, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        let (base, len) = (place as usize, bytes.len());
        let remote = [RemoteIoVec { base, len }];
        let read = process_vm_readv(self.process, &mut [IoSliceMut::new(bytes)], &remote);
        assert_eq!(read, Ok(len));
    }

    /// Writes memory of the process.
    fn poke(&self, place: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (base, len) = (place as usize, bytes.len());
        let remote = [RemoteIoVec { base, len }];
        let written = process_vm_writev(self.process, &[IoSlice::new(bytes)], &remote);
        assert_eq!(written, Ok(len));
    }
}

/// Lets a thread go on, unless it has been killed.
fn go_on(thread: Pid, signal: Option<Signal>) {
    let _ = ptrace::cont(thread, signal);
}

/// Ends a thread's wait by a signal that cannot be blocked, and that nobody gets: the tracer keeps
/// it.
fn disturb(process: Pid, thread: Pid) {
    let (process, thread) = (process.as_raw(), thread.as_raw());
    // SAFETY: plain numbers; the thread may be gone.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGSTOP) };
}

/// Sets a thread's registers, unless it has been killed.
fn put(thread: Pid, registers: Registers) {
    let _ = ptrace::setregs(thread, registers);
}

/// Leaves a call out, and gives the thread an answer.
fn answer_with(thread: Pid, registers: Registers, answer: i64) {
    let rax = answer as u64;
    let orig_rax = u64::MAX;
    put(
        thread,
        Registers {
            rax,
            orig_rax,
            ..registers
        },
    );
    go_on(thread, None);
}
