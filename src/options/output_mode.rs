//! The mode in which a program writes its files.

// The mode of files; names of tables have their own (`ark,t:`).
#[derive(clap::Args, Debug, Clone, Copy)]
pub struct OutputMode {
    /// Write output in binary mode (files only: a table's name gives its mode)
    #[arg(long, default_value_t = true)]
    pub binary: bool,
}
