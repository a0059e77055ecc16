//! What results are kept by: the text of a mutant's function, and what is wrong in it.

use std::collections::HashMap;

use crate::mutants::mutant::Mutant;

/// What results are kept by.
#[derive(Debug, Default)]
pub(crate) struct Keys(HashMap<String, usize>);

impl Keys {
    /// The keys of all mutants of a file. Those that would be the same are counted, also from file
    /// to file.
    pub(crate) fn of(&mut self, mutants: &[Mutant]) -> Vec<String> {
        let key = |mutant: &Mutant| {
            // Files and types are named anew more often than their functions are written anew.
            let function = mutant.function.rsplit("::").next().unwrap_or_default();
            let same = format!(
                "{function} {:016x} {} {}",
                mutant.code, mutant.kind, mutant.what
            );
            let count = self.0.entry(same.clone()).or_default();
            *count += 1;
            format!("{same} {count}")
        };
        mutants.iter().map(key).collect()
    }
}
