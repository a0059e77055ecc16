//! How many processors this process may use.
//!
//! The smaller of two numbers: the CPUs in the affinity mask, and the CPU quota of
//! the control group and all its ancestors, rounded up. At least one. (std rounds a quota down, and
//! a crate for `/proc` reads none of `/sys`.)

use super::cpu_set::CpuSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// CPUs that this process may use at once: min(affinity, cgroup quota), at least one.
pub(crate) fn available() -> usize {
    affinity().min(quota().unwrap_or(usize::MAX)).max(1)
}

/// CPUs that the program may run on.
fn affinity() -> usize {
    CpuSet::of_program().map_or_else(|_| online(), |cpus| cpus.len())
}

/// The CPUs that the kernel runs, for a machine that the affinity mask is too small for.
fn online() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// CPUs' worth of time that the control group may use, rounded up.
fn quota() -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    quota_of(&groups, Path::new("/sys/fs/cgroup"))
}

/// The quota in the hierarchies below `mounts`, for a process in `groups`, which is what
/// `/proc/self/cgroup` says.
fn quota_of(groups: &str, mounts: &Path) -> Option<usize> {
    let unified = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let unified = unified.and_then(|group| tightest(mounts, group, quota_v2));
    unified.or_else(|| {
        let older = groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            controllers
                .split(',')
                .any(|name| name == "cpu")
                .then_some(group)
        });
        tightest(&mounts.join("cpu"), older.unwrap_or("/"), quota_v1)
    })
}

/// The smallest quota from a group up to the root of its hierarchy. In a container the group's path
/// may be the host's, and only its root is there.
fn tightest(root: &Path, group: &str, quota: fn(&Path) -> Option<usize>) -> Option<usize> {
    let leaf: PathBuf = root.join(group.trim_start_matches('/'));
    leaf.ancestors()
        .take_while(|directory| directory.starts_with(root))
        .filter_map(quota)
        .min()
}

/// The quota of one group.
fn quota_v2(group: &Path) -> Option<usize> {
    let text = fs::read_to_string(group.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    cpus(quota, period)
}

/// The quota of one group, from the files of the older version.
fn quota_v1(group: &Path) -> Option<usize> {
    let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    cpus(quota.trim(), period.trim())
}

/// Quota over period, rounded up; `None` for "max", -1, and nonsense.
fn cpus(quota: &str, period: &str) -> Option<usize> {
    let quota: usize = quota.parse().ok()?;
    let period: usize = period.parse().ok().filter(|period| *period > 0)?;
    Some(quota.div_ceil(period).max(1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn quota_is_rounded_up_and_may_be_absent() {
        assert_eq!(cpus("150000", "100000"), Some(2));
        assert_eq!(cpus("1000", "100000"), Some(1));
        assert_eq!(cpus("max", "100000"), None);
        assert_eq!(cpus("-1", "100000"), None);
    }

    #[test]
    fn the_tightest_ancestor_counts() {
        let root = std::env::temp_dir().join(format!("fibre-quota-{}", std::process::id()));
        let leaf = root.join("a/b");
        fs::create_dir_all(&leaf).unwrap();
        fs::write(root.join("a/cpu.max"), "200000 100000\n").unwrap();
        fs::write(leaf.join("cpu.max"), "max 100000\n").unwrap();
        assert_eq!(quota_of("0::/a/b\n", &root), Some(2));
        fs::write(leaf.join("cpu.max"), "50000 100000\n").unwrap();
        assert_eq!(quota_of("0::/a/b\n", &root), Some(1));
        assert_eq!(quota_of("0::/\n", &root), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn older_groups_count_as_well() {
        let root = std::env::temp_dir().join(format!("fibre-quota1-{}", std::process::id()));
        let leaf = root.join("cpu/a/b");
        fs::create_dir_all(&leaf).unwrap();
        for (group, quota) in [("cpu", "-1"), ("cpu/a", "250000"), ("cpu/a/b", "400000")] {
            fs::write(root.join(group).join("cpu.cfs_quota_us"), quota).unwrap();
            fs::write(root.join(group).join("cpu.cfs_period_us"), "100000\n").unwrap();
        }
        let groups = "9:name=systemd:/x\n4:cpu,cpuacct:/a/b\n3:cpuset:/\n0::/a\n";
        assert_eq!(quota_of(groups, &root), Some(3));
        // The host's path, seen from a container with a quota at its root.
        fs::write(root.join("cpu/cpu.cfs_quota_us"), "100000").unwrap();
        assert_eq!(quota_of("4:cpu:/docker/12ab\n", &root), Some(1));
        assert_eq!(quota_of("nonsense\n", &root), Some(1));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn at_least_one() {
        assert!(available() >= 1);
    }
}
