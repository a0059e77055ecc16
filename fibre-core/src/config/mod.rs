//! Every choice as a value, and the environment variables that set defaults.
//!
//! * `policy`: the scheduler's choices;
//! * `settings`: all choices of a cluster;
//! * `pollers`: the table of pollers;
//! * `environment`: all variables, and what each may be set to;
//! * `debug_flag`: flags of the whole process, for users that look for a fault.

pub mod debug_flag;
pub mod environment;
pub mod policy;
pub mod pollers;
pub mod settings;
