//! A slab: values with numbers, in places that are used again, and in chains.
//!
//! Each place has links for a few chains. A chain is a doubly linked list of places: whatever lies
//! in it can be taken out in constant time, wherever it is, which is what Mely's core-queues need
//! (Mely, section IV-A). The links are numbers, so nothing here is unsafe.

/// A number that no place has.
pub(crate) const NONE: u32 = u32::MAX;

/// How many chains one place may lie in.
pub(crate) const CHAINS: usize = 2;

/// Neighbours in one chain.
#[derive(Debug, Clone, Copy)]
struct Links {
    before: u32,
    after: u32,
}

/// Not in a chain.
const FREE: Links = Links {
    before: NONE,
    after: NONE,
};

/// One place.
#[derive(Debug)]
struct Place<T> {
    value: T,
    links: [Links; CHAINS],
}

/// Values with numbers, in places that are used again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    /// Places that are not used. Their values stay: the next user may want their memory.
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// A slab without places.
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Has `renew` change a value that is not used, or makes one; returns the number of its place.
    pub(crate) fn insert<A>(
        &mut self,
        with: A,
        renew: impl FnOnce(&mut T, A),
        make: impl FnOnce(A) -> T,
    ) -> u32 {
        if let Some(number) = self.free.pop() {
            renew(self.get_mut(number), with);
            return number;
        }
        let number = u32::try_from(self.places.len()).unwrap_or(NONE);
        assert!(number != NONE, "there are too many colours or events");
        self.places.push(Place {
            value: make(with),
            links: [FREE; CHAINS],
        });
        number
    }

    /// Gives a place back, which is in no chain. Its value stays until the place is used again.
    pub(crate) fn free(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The numbers of all places, those that are not used included.
    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.places.len() as u32
    }

    /// The value at a place.
    pub(crate) fn get(&self, number: u32) -> &T {
        &self.places[number as usize].value
    }

    /// The value at a place.
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.places[number as usize].value
    }

    /// The links of a place in chains of one kind.
    fn links(&mut self, number: u32, kind: usize) -> &mut Links {
        &mut self.places[number as usize].links[kind]
    }
}

/// A doubly linked list of places; `KIND` says which of their links it uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain<const KIND: usize> {
    first: u32,
    last: u32,
    len: usize,
}

impl<const KIND: usize> Chain<KIND> {
    /// An empty chain.
    pub(crate) const fn new() -> Self {
        Self {
            first: NONE,
            last: NONE,
            len: 0,
        }
    }

    /// How many places are in it.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first place.
    pub(crate) fn first(&self) -> Option<u32> {
        Some(self.first).filter(|number| *number != NONE)
    }

    /// The place behind another.
    pub(crate) fn after<T>(slab: &Slab<T>, number: u32) -> Option<u32> {
        let links = slab.places[number as usize].links[KIND];
        Some(links.after).filter(|number| *number != NONE)
    }

    /// All places, in order.
    pub(crate) fn iter<T>(&self, slab: &Slab<T>) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), |number| Self::after(slab, *number))
    }

    /// Appends a place.
    pub(crate) fn push_back<T>(&mut self, slab: &mut Slab<T>, number: u32) {
        *slab.links(number, KIND) = Links {
            before: self.last,
            after: NONE,
        };
        match self.last {
            NONE => self.first = number,
            last => slab.links(last, KIND).after = number,
        }
        self.last = number;
        self.len += 1;
    }

    /// Takes out a place that is in this chain.
    pub(crate) fn remove<T>(&mut self, slab: &mut Slab<T>, number: u32) {
        let links = std::mem::replace(slab.links(number, KIND), FREE);
        match links.before {
            NONE => self.first = links.after,
            before => slab.links(before, KIND).after = links.after,
        }
        match links.after {
            NONE => self.last = links.before,
            after => slab.links(after, KIND).before = links.before,
        }
        self.len -= 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slab_of(count: u32) -> Slab<u32> {
        let mut slab = Slab::new();
        for number in 0..count {
            assert_eq!(
                slab.insert(number, |old, new| *old = new, |new| new),
                number
            );
        }
        slab
    }

    fn all(chain: &Chain<0>, slab: &Slab<u32>) -> Vec<u32> {
        chain.iter(slab).collect()
    }

    #[test]
    fn a_place_leaves_its_chain_wherever_it_is() {
        for gone in 0..3 {
            let (mut slab, mut chain) = (slab_of(3), Chain::<0>::new());
            for number in 0..3 {
                chain.push_back(&mut slab, number);
            }
            chain.remove(&mut slab, gone);
            let left: Vec<_> = (0..3).filter(|number| *number != gone).collect();
            assert_eq!((all(&chain, &slab), chain.len()), (left, 2));
        }
    }

    #[test]
    fn places_lie_in_two_chains_at_once() {
        let mut slab = slab_of(2);
        let (mut one, mut other) = (Chain::<0>::new(), Chain::<1>::new());
        one.push_back(&mut slab, 1);
        one.push_back(&mut slab, 0);
        other.push_back(&mut slab, 0);
        one.remove(&mut slab, 1);
        other.remove(&mut slab, 0);
        assert_eq!(all(&one, &slab), [0]);
        assert!(other.is_empty());
    }

    #[test]
    fn a_place_is_used_again_with_its_memory() {
        let mut slab: Slab<Vec<u32>> = Slab::new();
        let first = slab.insert((), |_, ()| (), |()| Vec::with_capacity(100));
        slab.free(first);
        let again = slab.insert((), |old, ()| old.push(1), |()| Vec::new());
        assert_eq!(again, first);
        assert!(slab.get(again).capacity() >= 100);
    }
}
