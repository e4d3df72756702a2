//! Limits of one call, and of a day, as a manifest has them.

use serde::{Deserialize, Serialize};

use crate::executor::ManifestError;

/// Limits of one call, and of a day. Missing ones have the defaults of the design (executor §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quotas {
    /// Seconds on the clock.
    pub wall_s: u32,
    /// Seconds of processor time.
    pub cpu_s: u32,
    /// Address space in MiB.
    pub ram_mb: u32,
    /// Size of the result in MiB.
    pub output_mb: u32,
    /// Files written in a day.
    pub writes_per_day: u32,
    /// Bytes written in a day.
    pub bytes_per_day: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { wall_s: 15, cpu_s: 5, ram_mb: 256, output_mb: 2, writes_per_day: 0, bytes_per_day: 0 }
    }
}

/// The profile of code that nobody has approved yet: nothing is granted, and its quotas are tighter than all others.
pub const SYNTH: &str = "synth";

impl Quotas {
    /// What no manifest may exceed.
    pub const CAP: Self =
        Self { wall_s: 120, cpu_s: 60, ram_mb: 1024, output_mb: 16, writes_per_day: 100_000, bytes_per_day: 1 << 40 };
    /// What code that nobody has approved yet may not exceed: the profile [`SYNTH`] (design: sandbox §5).
    pub const SYNTH_CAP: Self =
        Self { wall_s: 2, cpu_s: 2, ram_mb: 64, writes_per_day: 0, bytes_per_day: 0, ..Self::CAP };
    /// The least address space in which the interpreter starts, in MiB.
    pub const LEAST_RAM_MB: u32 = 48;

    /// The largest result, in bytes.
    #[must_use]
    pub const fn output_bytes(&self) -> usize {
        // At most 16 MiB by validation; a cast cannot truncate.
        (self.output_mb as usize) << 20
    }

    pub(in crate::executor) fn validate(&self, cap: &Self) -> Result<(), ManifestError> {
        let range = |name: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(ManifestError::field(format!("sandbox.quotas.{name}"), value, format!("{least} to {most}")))
            }
        };
        range("wall_s", self.wall_s.into(), 1, cap.wall_s.into())?;
        range("cpu_s", self.cpu_s.into(), 1, cap.cpu_s.into())?;
        range("ram_mb", self.ram_mb.into(), Self::LEAST_RAM_MB.into(), cap.ram_mb.into())?;
        range("output_mb", self.output_mb.into(), 1, cap.output_mb.into())?;
        range("writes_per_day", self.writes_per_day.into(), 0, cap.writes_per_day.into())?;
        range("bytes_per_day", self.bytes_per_day, 0, cap.bytes_per_day)
    }
}
