//! A random mixture, for `FIBRE_STRESS_SECONDS` (default: 2) in all. All choices follow from the
//! printed seed, which `FIBRE_SEED` takes back. In the end each event has run or been dropped,
//! once; those of one colour have never run together; and those that one handler or thread posted
//! to one colour have run in the order of their posts.

use crate::support::{POLICIES, Random, watchdog};
use fibre_events::{Events, Handler, Policy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How many colours there are; those of processor 0 are more often used.
const COLOURS: u64 = 64;

static SHORT: Handler = Handler::new("short").time_ns(200);
static LONG: Handler = Handler::new("long").time_us(50);
static DEAR: Handler = Handler::new("dear").time_us(50).penalty(1000);
static MEASURED: Handler = Handler::new("measured");

/// One colour, as its handlers see it.
#[derive(Default)]
struct State {
    inside: AtomicU64,
    /// The last number of each poster's post that has run.
    last: [AtomicU64; 4],
}

/// What all events share.
struct World {
    events: Events,
    colours: Vec<State>,
    posted: AtomicU64,
    /// Drops of what events own.
    gone: AtomicU64,
    wrong: AtomicU64,
    ends: Instant,
}

/// Proof of an event.
struct Token(Arc<World>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.gone.fetch_add(1, SeqCst);
    }
}

/// A colour; even ones come more often, so some processors have more to do.
fn colour_of(random: &mut Random) -> u64 {
    let any = random.next() % COLOURS;
    if random.one_in(2) { any & !1 } else { any }
}

/// Posts an event; `order` is a poster and the number of its post to this colour, if it counts.
fn post(world: &Arc<World>, random: &mut Random, colour: u64, order: Option<(usize, u64)>) {
    let seed = random.next();
    let handler = [&SHORT, &LONG, &DEAR, &MEASURED][random.below(4)];
    world.posted.fetch_add(1, SeqCst);
    let token = Token(Arc::clone(world));
    world.events.post(
        colour,
        handler.with(move || handle(&token.0, seed, colour, order)),
    );
}

/// What a handler does.
fn handle(world: &Arc<World>, seed: u64, colour: u64, order: Option<(usize, u64)>) {
    let state = &world.colours[colour as usize];
    let mut random = Random::new(seed);
    let enter = || {
        if state.inside.fetch_add(1, SeqCst) != 0 {
            world.wrong.fetch_add(1, SeqCst);
        }
    };
    enter();
    if let Some((poster, number)) = order
        && state.last[poster].swap(number, SeqCst) + 1 != number
    {
        world.wrong.fetch_add(1, SeqCst);
    }
    match random.below(64) {
        0 => fibre::sleep(Duration::from_micros(50)),
        1..4 => fibre::yield_now(),
        4 => {
            state.inside.fetch_sub(1, SeqCst);
            world.events.release(fibre::yield_now);
            enter();
        }
        5..16 => (0..random.below(2000)).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
    if Instant::now() < world.ends {
        for _ in 0..random.below(3) {
            let next = colour_of(&mut random);
            post(world, &mut random, next, None);
        }
    }
    state.inside.fetch_sub(1, SeqCst);
}

/// Runs the mixture in one setting.
fn mix(random: &mut Random, processors: usize, policy: Policy, time: Duration) {
    let builder = Events::builder().processors(processors).policy(policy);
    let remembered = [0, 5, 1024][random.below(3)];
    let builder = builder.batch(1 + random.below(12));
    let events = builder.remembered(remembered).build().unwrap();
    let world = Arc::new(World {
        events: events.clone(),
        colours: (0..COLOURS).map(|_| State::default()).collect(),
        posted: AtomicU64::new(0),
        gone: AtomicU64::new(0),
        wrong: AtomicU64::new(0),
        ends: Instant::now() + time,
    });
    events.start();
    let posters: Vec<_> = (0..2)
        .map(|poster| {
            let (world, mut random) = (Arc::clone(&world), Random::new(random.next()));
            std::thread::spawn(move || {
                let mut numbers = vec![0; COLOURS as usize];
                while Instant::now() < world.ends {
                    for _ in 0..20 {
                        let colour = colour_of(&mut random);
                        numbers[colour as usize] += 1;
                        let order = (poster, numbers[colour as usize]);
                        post(&world, &mut random, colour, Some(order));
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            })
        })
        .collect();
    posters
        .into_iter()
        .for_each(|poster| poster.join().unwrap());
    let now = random.below(4) == 0;
    if now {
        events.stop_now();
    } else {
        events.stop();
    }
    let report = events.run();
    assert_eq!(world.wrong.load(SeqCst), 0);
    let posted = world.posted.load(SeqCst);
    assert_eq!(report.ran + report.dropped, posted);
    assert_eq!(world.gone.load(SeqCst), posted);
    assert_eq!(report.panicked, 0);
}

#[test]
fn each_event_runs_once_and_alone_in_its_colour() {
    let seconds = std::env::var("FIBRE_STRESS_SECONDS").ok();
    let seconds: f64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let mut random = Random::new(Random::seed());
    let each = Duration::from_secs_f64(seconds / 16.0);
    for policy in POLICIES {
        for processors in [1, 2, 4, 16] {
            let remark = format!(" with {policy:?} on {processors} processors");
            let limit = watchdog::LIMIT + each * 4;
            watchdog::watched_for(limit, &remark, || {
                mix(&mut random, processors, policy, each)
            });
        }
    }
}
