//! `--use-gpu` and related options: the choice of the device, and its log lines.

use std::path::PathBuf;
use std::time::Duration;

use crate::options::cpu_math::CpuMathOptions;
use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use nnet3_matrix::Device;
use nnet3_matrix::cuda::GpuMath;
use nnet3_matrix::cuda::driver::{self, Debug, Description, Settings, Unavailable};

const SELECT: Site = Site::new("SelectGpuId", "cu-device.cc", 1);
const SELECTED: Site = Site::new("FinalizeActiveGpu", "cu-device.cc", 1);

/// Values of `--use-gpu`, for its `value_parser`.
pub const USE_GPU: [&str; 4] = ["yes", "no", "optional", "wait"];

/// If set (and not to 0), `--use-gpu=yes` is an error wherever no GPU can be used.
pub const REQUIRE_GPU: &str = "NNET3_REQUIRE_GPU";

/// `optional` here makes `cuda-compiled` succeed and takes `--use-gpu=yes` and `wait` for `optional`. Recipes that insist on a GPU
/// then run on any machine, and use a GPU if there is one.
pub const GPU: &str = "NNET3_GPU";

/// Switches for the search of faults on a GPU: `no-graphs`, `synchronous`, `no-lt`, with commas between them.
const GPU_DEBUG: &str = "NNET3_GPU_DEBUG";

/// True if programs behave as the reference's do when built with CUDA: all programs can use it, and look for the driver when
/// they run. Without a driver they do what the reference does without CUDA: `--use-gpu=yes` runs on the CPU. Also true if the
/// environment asks for it ([`GPU`], [`REQUIRE_GPU`]). An error if these have no known value, or contradict each other.
pub fn cuda_compiled() -> Result<bool> {
    Ok(is_gpu_optional()? || is_gpu_required() || has_driver())
}

/// True if the NVIDIA driver is installed.
pub fn has_driver() -> bool {
    !matches!(driver::count(), Err(Unavailable::NoDriver))
}

/// True if [`REQUIRE_GPU`] is set.
pub fn is_gpu_required() -> bool {
    std::env::var_os(REQUIRE_GPU).is_some_and(|value| !value.is_empty() && value != "0")
}

fn is_gpu_optional() -> Result<bool> {
    let Some(value) = std::env::var_os(GPU).filter(|value| !value.is_empty()) else { return Ok(false) };
    if value != "optional" {
        bail!("the environment variable {GPU}={}: expected optional, or no value", value.display());
    }
    if is_gpu_required() {
        bail!(
            "the environment variables {GPU}=optional and {REQUIRE_GPU} contradict each other: unset one of them"
        );
    }
    Ok(true)
}

/// Pause of `--use-gpu=wait` between attempts.
const PAUSE: Duration = Duration::from_secs(5);

// Options of devices, without `--use-gpu`, whose default differs between programs.
#[derive(Args, Clone, Debug)]
pub struct DeviceOptions {
    #[command(flatten)]
    pub cpu: CpuMathOptions,
    /// Precision of matrix products on a GPU: fp32, tf32 (10 bits of mantissa, faster on GPUs since 2020) or bf16 (7
    /// bits, faster still; values and derivatives between layers are also kept in bf16, in half of the memory). All other
    /// numbers have 32 or 64 bits
    #[arg(long, default_value_t = GpuMath::Fp32, value_parser = gpu_math())]
    pub gpu_math: GpuMath,
    /// Number of the GPU, counted from 0 among the GPUs that CUDA_VISIBLE_DEVICES leaves; -1 means the first
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    pub device_id: i32,
    /// Use tensor cores: as --gpu-math=tf32
    #[arg(long)]
    pub cuda_use_tensor_cores: bool,
    /// Multiply in TF32: as --gpu-math=tf32
    #[arg(long)]
    pub cuda_use_tf32_compute: bool,
}

impl Default for DeviceOptions {
    fn default() -> DeviceOptions {
        DeviceOptions {
            cpu: CpuMathOptions::default(),
            gpu_math: GpuMath::Fp32,
            device_id: -1,
            cuda_use_tensor_cores: false,
            cuda_use_tf32_compute: false,
        }
    }
}

fn gpu_math() -> impl TypedValueParser<Value = GpuMath> {
    PossibleValuesParser::new(["fp32", "tf32", "bf16"]).try_map(|text| text.parse::<GpuMath>())
}

/// A value of `--use-gpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UseGpu {
    Yes,
    No,
    Optional,
    Wait,
}

impl UseGpu {
    fn parse(text: &str) -> Result<UseGpu> {
        Ok(match text {
            "yes" => UseGpu::Yes,
            "no" => UseGpu::No,
            "optional" => UseGpu::Optional,
            "wait" => UseGpu::Wait,
            other => bail!("--use-gpu={other}: expected yes, no, optional or wait"),
        })
    }

    fn name(self) -> &'static str {
        match self {
            UseGpu::Yes => "yes",
            UseGpu::No => "no",
            UseGpu::Optional => "optional",
            UseGpu::Wait => "wait",
        }
    }
}

/// The option `--use-gpu` beside the environment.
#[derive(Clone, Copy)]
struct Wish {
    option: UseGpu,
    /// True if [`GPU`] says `optional`.
    is_gpu_optional: bool,
}

/// Returns a GPU with the defaults of all options, or an error.
pub fn first_gpu() -> Result<Device> {
    let settings = DeviceOptions::default().settings()?;
    let (device, found) = driver::open(&settings).map_err(|why| refusal("yes", why))?;
    announce(&settings, &found);
    Ok(device)
}

impl DeviceOptions {
    /// Selects the device that `use_gpu` means. `yes` needs a GPU, or gives an error; `optional` takes a GPU if one can be
    /// used. `wait` takes a GPU as soon as one is free. On machines without the driver `yes` and `wait` warn and take the CPU,
    /// unless [`REQUIRE_GPU`] is set. With [`GPU`]`=optional` in the environment they mean `optional`.
    pub fn select(&self, use_gpu: &str) -> Result<Device> {
        Ok(self.select_many(use_gpu, 1)?.remove(0))
    }

    /// As [`select_many`](Self::select_many), for a program that is going to multiply in several threads. To be called
    /// while it has one.
    pub fn select_for_training(&self, use_gpu: &str, count: usize) -> Result<Vec<Device>> {
        let devices = self.select_many(use_gpu, count)?;
        if devices.iter().any(|device| device.is_host()) {
            nnet3_matrix::load_library();
        }
        Ok(devices)
    }

    /// Selects that many devices, at least one: as [`DeviceOptions::select`] does, but GPUs from `--device-id` on, or
    /// the CPU that many times. The kinds are not mixed, since those on the CPU would hold up the others.
    fn select_many(&self, use_gpu: &str, count: usize) -> Result<Vec<Device>> {
        let wish = Wish { option: UseGpu::parse(use_gpu)?, is_gpu_optional: is_gpu_optional()? };
        let first = self.settings()?;
        let host = || vec![self.cpu.device(); count];
        if wish.option == UseGpu::No {
            kaldi_log!(SELECT, "Manually selected to compute on CPU.");
            return Ok(host());
        }
        let gpu = |i| open(wish, Settings { ordinal: first.ordinal + i, ..first.clone() });
        let gpus: Option<Vec<Device>> = (0..count).map(gpu).collect::<Result<_>>()?;
        Ok(gpus.unwrap_or_else(host))
    }

    fn settings(&self) -> Result<Settings> {
        if self.device_id < -1 {
            bail!("--device-id={}: expected -1 or the number of a GPU, from 0", self.device_id);
        }
        let tf32 = self.cuda_use_tensor_cores || self.cuda_use_tf32_compute;
        let math = if tf32 && self.gpu_math == GpuMath::Fp32 { GpuMath::Tf32 } else { self.gpu_math };
        let ordinal = self.device_id.max(0) as usize;
        Ok(Settings { ordinal, math, cache: cache_folder(), debug: debug()?, warn: Some(warn) })
    }
}

/// Opens a GPU. Returns `None` if the CPU is to be used in its place.
fn open(wish: Wish, settings: Settings) -> Result<Option<Device>> {
    let option = wish.option.name();
    loop {
        match driver::open(&settings) {
            Ok((device, found)) => {
                announce(&settings, &found);
                return Ok(Some(device));
            }
            // (As most machines are. What speaks of a driver that cannot be used is a warning.)
            Err(why @ Unavailable::NoDriver) if wish.option == UseGpu::Optional => {
                kaldi_log!(SELECT, "Running on CPU since --use-gpu=optional: {why}");
                return Ok(None);
            }
            Err(why) if wish.option == UseGpu::Optional => {
                kaldi_warn!(SELECT, "Running on CPU since --use-gpu=optional: {why}");
                return Ok(None);
            }
            Err(why) if wish.is_gpu_optional => {
                kaldi_warn!(
                    SELECT,
                    "Running on CPU in spite of --use-gpu={option}, since {GPU}=optional: {why}"
                );
                return Ok(None);
            }
            Err(why @ Unavailable::NoDriver) if !is_gpu_required() => {
                kaldi_warn!(
                    SELECT,
                    "Running on CPU in spite of --use-gpu={option}: {why}. ({REQUIRE_GPU}=1 makes this an error.)"
                );
                return Ok(None);
            }
            Err(why) if wish.option == UseGpu::Wait && why.may_pass() => {
                kaldi_warn!(SELECT, "{why}. Will try again every {} seconds to get a GPU.", PAUSE.as_secs());
                std::thread::sleep(PAUSE);
            }
            Err(why) => return Err(refusal(option, why)),
        }
    }
}

fn refusal(option: &str, why: Unavailable) -> anyhow::Error {
    anyhow::Error::new(why)
        .context(format!("--use-gpu={option}: no GPU can be used (--use-gpu=optional would run on the CPU)"))
}

fn announce(settings: &Settings, found: &Description) {
    const MEGABYTE: u64 = 1 << 20;
    let (free, total) = (found.memory.free / MEGABYTE, found.memory.total / MEGABYTE);
    kaldi_log!(
        SELECTED,
        "The active GPU is [{}]: {}\tfree:{free}M, used:{}M, total:{total}M, free/total:{} version {}.{}",
        settings.ordinal,
        found.name,
        total - free,
        kaldi_cli::log::num(free as f64 / total.max(1) as f64),
        found.capability.0,
        found.capability.1
    );
    let lt = match found.cublas_lt {
        Some(version) => format!("cuBLASLt {version}, else cuBLAS"),
        None if settings.debug.no_lt => format!("cuBLAS without cuBLASLt ({GPU_DEBUG}=no-lt)"),
        None => "cuBLAS without cuBLASLt (libcublasLt.so was not found, or does not start)".to_owned(),
    };
    kaldi_log!(
        SELECTED,
        "Matrix products in {} (--gpu-math) by {lt} {}; {}",
        settings.math,
        found.cublas,
        found.kernels
    );
    if settings.math != GpuMath::Fp32 && found.capability.0 < 8 {
        kaldi_warn!(SELECTED, "This GPU is too old for {}: products may be computed in fp32.", settings.math);
    }
}

fn warn(text: &str) {
    kaldi_warn!(SELECTED, "{text}");
}

fn debug() -> Result<Debug> {
    let text = std::env::var(GPU_DEBUG).unwrap_or_default();
    Debug::parse(&text).map_err(|e| anyhow::anyhow!("the environment variable {GPU_DEBUG}: {e}"))
}

/// The folder in which compiled kernels are kept: `nnet3` in the user's cache folder.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    cache.or_else(|| folder("HOME").map(|home| home.join(".cache"))).map(|path| path.join("nnet3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_by_any_name() {
        let math = |options: DeviceOptions| options.settings().unwrap().math;
        assert_eq!(math(DeviceOptions::default()), GpuMath::Fp32);
        let tensor_cores = DeviceOptions { cuda_use_tensor_cores: true, ..Default::default() };
        assert_eq!(math(tensor_cores.clone()), GpuMath::Tf32);
        assert_eq!(math(DeviceOptions { gpu_math: GpuMath::Bf16, ..tensor_cores }), GpuMath::Bf16);
    }

    #[test]
    fn the_processor_when_asked_for() {
        assert_eq!(DeviceOptions::default().select("no").unwrap().id(), 0);
        assert!(DeviceOptions::default().select("maybe").is_err());
        let negative = DeviceOptions { device_id: -2, ..Default::default() };
        let error = negative.select("no").err().expect("an error");
        assert!(error.to_string().contains("--device-id=-2"), "{error}");
    }
}
