//! `--cpu-math`: the arithmetic of matrix products on the CPU.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use nnet3_matrix::{CpuMath, Device, cpu, cpu_with};

const SELECTED: Site = Site::new("SelectCpuMath", "cpu-math", 1);

#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CpuMathOptions {
    /// Precision of matrix products on the CPU: fp32, or bf16 (factors of large products keep 7 bits of mantissa, sums
    /// have 32 bits). bf16 is for processors on which AVX512-BF16 is faster than floats; others use fp32, with a warning
    #[arg(long, default_value_t = CpuMath::Fp32, value_parser = cpu_math())]
    pub cpu_math: CpuMath,
}

fn cpu_math() -> impl TypedValueParser<Value = CpuMath> {
    PossibleValuesParser::new(CpuMath::NAMES).try_map(|text| text.parse::<CpuMath>())
}

impl CpuMathOptions {
    /// Returns the host as the device that multiplies so. If bf16 is not faster on this processor, warns and returns the
    /// one that multiplies in floats.
    pub fn device(&self) -> Device {
        match cpu_with(self.cpu_math) {
            Ok(device) => {
                if self.cpu_math != CpuMath::Fp32 {
                    kaldi_log!(SELECTED, "Matrix products on the CPU: {} (--cpu-math)", device.kernel());
                }
                device
            }
            Err(why) => {
                kaldi_warn!(SELECTED, "--cpu-math={}: {why}; matrix products are in fp32.", self.cpu_math);
                cpu()
            }
        }
    }

    /// The arithmetic of [`CpuMathOptions::device`].
    pub fn usable(&self) -> CpuMath {
        if self.device().in_floats().is_some() { CpuMath::Bf16 } else { CpuMath::Fp32 }
    }
}
