//! `nnet3-xconfig-to-configs` as scripts call it. Expansions themselves are tested in `nnet3-xconfig`.

use std::path::{Path, PathBuf};
use std::process::Command;

struct Case {
    folder: PathBuf,
}

impl Case {
    fn new(name: &str) -> Case {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("xconfig-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Case { folder }
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.folder.join(file), text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    /// Lines of a config without comments.
    fn config(&self, file: &str) -> Vec<String> {
        let text = self.read(file);
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// Runs a program in the folder; returns what it said.
    fn run(&self, program: &str, arguments: &[&str], status: i32) -> String {
        let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(program);
        let output = Command::new(path).args(arguments).current_dir(&self.folder).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{program} {arguments:?}\n{text}");
        text
    }

    fn expand(&self, arguments: &[&str], status: i32) -> String {
        let required = ["--xconfig-file", "network.xconfig", "--config-dir", "configs/"];
        self.run("nnet3-xconfig-to-configs", &[&required, arguments].concat(), status)
    }
}

const XCONFIG: &str = "\
input dim=20 name=ivector
  input dim=40 name=input   # frames

idct-layer name=idct affine-transform-file=configs/idct.mat include-in-init=true
fixed-affine-layer name=lda input=Append(-1,0,1,ReplaceIndex(ivector, t, 0)) affine-transform-file=configs/lda.mat
relu-batchnorm-layer name=tdnn1 dim=32 input=Append(-3,0,2)
output-layer name=output dim=7 input=tdnn1
";

#[test]
fn all_files() {
    let case = Case::new("all-files");
    case.write("network.xconfig", XCONFIG);
    case.expand(&[], 0);

    let head = "# The network. Made by:\n# ";
    let end = " --xconfig-file network.xconfig --config-dir configs/\n\ninput-node name=ivector dim=20\n";
    let last = case.read("configs/final.config");
    assert!(last.starts_with(head) && last.contains(end), "{last}");
    assert!(last.contains("component name=lda type=FixedAffineComponent matrix=configs/lda.mat\n"), "{last}");
    assert!(
        case.read("configs/ref.config").contains(" type=FixedAffineComponent input-dim=140 output-dim=140\n")
    );
    assert_eq!(
        case.config("configs/init.config"),
        [
            "input-node name=ivector dim=20",
            "input-node name=input dim=40",
            "component name=idct type=FixedAffineComponent matrix=configs/idct.mat",
            "component-node name=idct component=idct input=input",
            "output-node name=output input=Append(Offset(idct, -1), idct, Offset(idct, 1), ReplaceIndex(ivector, t, 0))",
        ]
    );
    assert_eq!(case.read("configs/vars"), "model_left_context=4\nmodel_right_context=3\n");
    let copy = case.read("configs/xconfig");
    assert!(copy.contains("\ninput dim=40 name=input   # frames\n\nidct-layer"), "{copy}");
    assert!(case.read("configs/xconfig.expanded.1").contains("\nidct-layer name=idct "));
    let normal = case.read("configs/xconfig.expanded.2");
    assert!(normal.contains(" input=Append(Offset(lda, -3), lda, Offset(lda, 2)) "), "{normal}");
    for raw in ["configs/init.raw", "configs/ref.raw"] {
        case.run("nnet3-info", &[raw], 0);
    }
    // A matrix for lda.mat, and the network of final.config can be made.
    case.write("configs/lda.mat", &format!(" [ {} ]", format!("{}\n", "1 ".repeat(141)).repeat(140)));
    case.run("nnet3-init", &["configs/final.config", "0.raw"], 0);
}

#[test]
fn an_old_init_config_goes() {
    let case = Case::new("old-init");
    case.write("network.xconfig", XCONFIG);
    case.expand(&[], 0);
    assert!(case.folder.join("configs/init.config").exists());
    case.write(
        "network.xconfig",
        "input dim=4 name=input\noutput-layer name=output dim=3 input=Append(-2,0)\n",
    );
    // Kaldi's form of options.
    case.run("nnet3-xconfig-to-configs", &["--xconfig_file=network.xconfig", "--config-dir=configs"], 0);
    assert!(!case.folder.join("configs/init.config").exists());
    assert_eq!(case.read("configs/vars"), "model_left_context=2\nmodel_right_context=0\n");
}

#[test]
fn outputs_of_other_names() {
    let case = Case::new("edits");
    case.write(
        "network.xconfig",
        "input dim=4 name=input\nrelu-layer name=r input=Append(-1,1)\noutput-layer name=output-0 dim=3 input=r@2\n",
    );
    let error = case.expand(&[], 255);
    assert!(error.contains("rename it with --nnet-edits") && error.contains("is not simple"), "{error}");
    assert!(!case.folder.join("configs/vars").exists());
    case.expand(&["--nnet-edits", "rename-node old-name=output-0 new-name=output"], 0);
    assert_eq!(case.read("configs/vars"), "model_left_context=0\nmodel_right_context=3\n");
    assert!(case.config("configs/final.config").last().unwrap().starts_with("output-node name=output-0 "));
}

#[test]
fn layers_on_an_existing_model() {
    let case = Case::new("existing");
    case.write(
        "network.xconfig",
        "input dim=4 name=input\nrelu-layer name=r input=Append(-1,1) dim=6\noutput-layer name=output dim=3\n",
    );
    case.expand(&[], 0);
    case.run("nnet3-init", &["configs/final.config", "old.raw"], 0);
    case.write(
        "network.xconfig",
        "relu-renorm-layer name=new input=Append(r.relu@-2, input) dim=5\noutput-layer name=output dim=9\n",
    );
    case.expand(&["--existing-model", "old.raw"], 0);
    let lines = case.config("configs/final.config");
    assert!(lines[0].contains(" input-dim=10 output-dim=5 "), "{lines:?}");
    assert_eq!(case.read("configs/vars"), "model_left_context=3\nmodel_right_context=0\n");
    case.run("nnet3-init", &["old.raw", "configs/final.config", "new.raw"], 0);
    let error = case.expand(&[], 255);
    assert!(error.contains("network.xconfig:1: relu-renorm-layer 'new': input="), "{error}");
    assert!(error.contains("there is no layer 'r.relu' before this one"), "{error}");
}

#[test]
fn init_needs_no_more_context_than_the_network() {
    let case = Case::new("init-context");
    case.write(
        "network.xconfig",
        "input dim=4 name=input\n\
         fixed-affine-layer name=lda input=Append(-2,0) affine-transform-file=lda.mat\n\
         output-layer name=output dim=9 output-delay=5\n",
    );
    let error = case.expand(&[], 255);
    assert!(error.contains("give their delay to the fixed-affine-layer as delay="), "{error}");
    assert!(!case.folder.join("configs/vars").exists());
    let delayed = case.read("network.xconfig").replace("name=lda ", "name=lda delay=5 ");
    case.write("network.xconfig", &delayed);
    case.expand(&[], 0);
    assert_eq!(case.read("configs/vars"), "model_left_context=0\nmodel_right_context=5\n");
}

#[test]
fn wrong_calls() {
    let case = Case::new("wrong-calls");
    let text = case.run("nnet3-xconfig-to-configs", &["--config-dir", "configs"], 1);
    assert!(text.contains("--xconfig-file is required"), "{text}");
    let text = case.expand(&[], 255);
    assert!(text.contains("ERROR") && text.contains("network.xconfig: "), "{text}");
    assert!(!case.folder.join("configs").exists());
    case.write("network.xconfig", "input dim=4 name=input\n");
    let text = case.expand(&[], 255);
    assert!(text.contains("network.xconfig: no layer of type output"), "{text}");
    assert!(!case.folder.join("configs").exists());
    case.run("nnet3-xconfig-to-configs", &["--xconfig-file"], 255);
}
