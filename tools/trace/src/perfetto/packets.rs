//! Packets one behind the other.
//!
//! Names of events are told once, and by their numbers from then on. Packets need not be in the
//! order of time; the events of one track are.

use super::schema::{
    Data, DebugAnnotation, EventName, InternedData, ProcessDescriptor, ThreadDescriptor, Trace,
    TracePacket, TrackDescriptor, TrackEvent, Type,
};
use prost::Message;
use std::collections::HashMap;

/// The number of the one sequence that all packets are of.
const SEQUENCE: u32 = 1;

/// The first packet of a sequence knows no names of earlier ones.
const STATE_CLEARED: u32 = 1;

/// A packet that uses names of earlier ones.
const NEEDS_STATE: u32 = 2;

/// A file, while it is made.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    /// The numbers of names.
    names: HashMap<String, u64>,
}

/// What else is told of an event.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// The arrow that begins here.
    pub(super) begins: Option<u64>,
    /// The arrow that ends here.
    pub(super) ends: Option<u64>,
    /// Words and what they say.
    pub(super) notes: Vec<(&'static str, String)>,
}

impl Packets {
    /// A file that begins with the process.
    pub(super) fn of_process(uuid: u64, process: u32, command: &str) -> Self {
        let mut packets = Self::default();
        let mut first = packet(Data::TrackDescriptor(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(ProcessDescriptor {
                pid: Some(process.cast_signed()),
                process_name: Some(command.to_owned()),
            }),
            ..TrackDescriptor::default()
        }));
        first.sequence_flags = Some(STATE_CLEARED);
        packets.push(first);
        packets
    }

    /// A track of a kernel thread.
    pub(super) fn thread(&mut self, uuid: u64, parent: u64, process: u32, thread: u32, name: &str) {
        self.push(packet(Data::TrackDescriptor(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent),
            thread: Some(ThreadDescriptor {
                pid: Some(process.cast_signed()),
                tid: Some(thread.into()),
                thread_name: Some(name.to_owned()),
            }),
            ..TrackDescriptor::default()
        })));
    }

    /// Another track.
    pub(super) fn track(&mut self, uuid: u64, parent: u64, name: &str) {
        self.push(packet(Data::TrackDescriptor(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent),
            name: Some(name.to_owned()),
            ..TrackDescriptor::default()
        })));
    }

    /// A slice of a track, from one nanosecond to another.
    pub(super) fn slice(
        &mut self,
        track: u64,
        (begin, end): (u64, u64),
        name: &str,
        details: Details,
    ) {
        self.event(track, begin, Type::SliceBegin, Some(name), details);
        self.event(track, end, Type::SliceEnd, None, Details::default());
    }

    /// Something that takes no time.
    pub(super) fn instant(&mut self, track: u64, at: u64, name: &str, details: Details) {
        self.event(track, at, Type::Instant, Some(name), details);
    }

    /// The file.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds an event.
    fn event(&mut self, track: u64, at: u64, kind: Type, name: Option<&str>, details: Details) {
        let (name, new) = name.map(|name| self.number(name)).unzip();
        let note = |(name, value): (&str, String)| DebugAnnotation {
            name: Some(name.to_owned()),
            string_value: Some(value),
        };
        let mut event = packet(Data::TrackEvent(TrackEvent {
            debug_annotations: details.notes.into_iter().map(note).collect(),
            r#type: Some(kind.into()),
            name_iid: name,
            track_uuid: Some(track),
            flow_ids: details.begins.into_iter().collect(),
            terminating_flow_ids: details.ends.into_iter().collect(),
        }));
        event.timestamp = Some(at);
        event.sequence_flags = Some(NEEDS_STATE);
        event.interned_data = new.flatten().map(|name| InternedData {
            event_names: vec![name],
        });
        self.push(event);
    }

    /// The number of a name, and what tells it if it is new.
    fn number(&mut self, name: &str) -> (u64, Option<EventName>) {
        if let Some(number) = self.names.get(name) {
            return (*number, None);
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), number);
        let new = EventName {
            iid: Some(number),
            name: Some(name.to_owned()),
        };
        (number, Some(new))
    }

    /// Adds a packet: a trace of one packet, as traces that stand one behind the other are one.
    fn push(&mut self, packet: TracePacket) {
        let trace = Trace {
            packet: vec![packet],
        };
        self.bytes.extend(trace.encode_to_vec());
    }
}

/// A packet with this.
fn packet(data: Data) -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        data: Some(data),
        ..TracePacket::default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_once() {
        let mut packets = Packets::of_process(1, 7, "program");
        packets.slice(2, (10, 20), "runs", Details::default());
        packets.slice(2, (20, 30), "runs", Details::default());
        let trace = Trace::decode(&packets.into_bytes()[..]).unwrap();
        assert_eq!(trace.packet.len(), 5);
        let told = trace
            .packet
            .iter()
            .filter_map(|packet| packet.interned_data.clone());
        let told: Vec<_> = told.flat_map(|data| data.event_names).collect();
        assert_eq!(told.len(), 1);
        let named = |packet: &&TracePacket| matches!(&packet.data, Some(Data::TrackEvent(event)) if event.name_iid == told[0].iid);
        assert_eq!(trace.packet.iter().filter(named).count(), 2);
    }
}
