//! Every choice as a value, and the environment variables that set defaults.
//!
//! * `policy`: the scheduler's choices;
//! * `steal_orders`: the table of steal orders;
//! * `settings`: all choices of a cluster;
//! * `pollers`: the table of pollers;
//! * `observation`: what a layer above watches for;
//! * `trace_setting`: whether events are recorded;
//! * `environment`: all variables, and what each may be set to;
//! * `debug_flag`: flags of the whole process, for users that look for a fault.

pub(crate) mod debug_flag;
pub(crate) mod environment;
pub(crate) mod observation;
pub(crate) mod policy;
pub(crate) mod pollers;
pub(crate) mod settings;
pub(crate) mod steal_orders;
pub(crate) mod trace_setting;
