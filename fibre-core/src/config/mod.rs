//! Every choice as a value, and the environment variables that set defaults.
//!
//! * `policy`: the scheduler's choices;
//! * `steal_orders`: the table of steal orders;
//! * `settings`: all choices of a cluster;
//! * `pollers`: the table of pollers;
//! * `environment`: all variables, and what each may be set to;
//! * `debug_flag`: flags of the whole process, for users that look for a fault.

pub(crate) mod debug_flag;
pub(crate) mod environment;
pub(crate) mod policy;
pub(crate) mod pollers;
pub(crate) mod settings;
pub(crate) mod steal_orders;
