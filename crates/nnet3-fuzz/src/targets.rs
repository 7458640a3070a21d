//! The formats. Each family of formats has a file of its own; those of tables, plain examples and HMMs are here.

mod chain;
mod corpora;
mod decoding;
mod discriminative;
mod export;
mod features;
mod g2p;
mod gaussians;
mod graphs;
mod keywords;
mod learning;
mod networks;
mod online;
mod options;
mod phrases;
mod rnnlm;
mod serve;
mod speakers;
mod trees;

use super::Target;
use kaldi_hmm::{ContextDependency, HmmTopology, TransitionModel};
use kaldi_io::filename::{RxFilename, WxFilename};
use kaldi_io::holder::*;
use kaldi_io::table::specifier::{Rspecifier, Wspecifier};
use kaldi_io::{
    CompressedMatrix, CompressionMethod, DenseMatrix, GeneralMatrix, KaldiObject, KaldiReader, KaldiWriter,
    PackedMatrix, SparseMatrix, SparseVector,
};
use nnet3_train::{Example, ExampleHolder, NnetExample, NnetIo, SequenceExample, SequenceSupervision};

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "basic", read: read_basic, corpus: corpus_basic, memory: SMALL },
    Target { name: "matrices", read: read_matrices, corpus: corpus_matrices, memory: SMALL },
    Target { name: "compressed", read: read_compressed, corpus: corpus_compressed, memory: SMALL },
    Target { name: "general", read: read_general, corpus: corpus_general, memory: SMALL },
    Target { name: "lists", read: read_lists, corpus: corpus_lists, memory: SMALL },
    Target { name: "plain-examples", read: read_example, corpus: corpus_examples, memory: SMALL },
    Target {
        name: "requests",
        read: networks::read_request,
        corpus: networks::corpus_requests,
        memory: SMALL,
    },
    Target {
        name: "computations",
        read: networks::read_computation,
        corpus: networks::corpus_computations,
        memory: LARGE,
    },
    Target { name: "hmms", read: read_hmm, corpus: corpus_hmms, memory: LARGE },
    Target { name: "models", read: networks::read_model, corpus: networks::corpus_models, memory: LARGE },
    Target {
        name: "safetensors",
        read: export::read_safetensors,
        corpus: export::corpus_safetensors,
        memory: LARGE,
    },
    Target { name: "configs", read: networks::read_config, corpus: networks::corpus_configs, memory: LARGE },
    Target {
        name: "config-files",
        read: options::read_config_file,
        corpus: options::corpus_config_files,
        memory: LARGE,
    },
    Target { name: "phrases", read: phrases::read_phrases, corpus: phrases::corpus_phrases, memory: LARGE },
    Target {
        name: "descriptors",
        read: networks::read_descriptor,
        corpus: networks::corpus_descriptors,
        memory: SMALL,
    },
    Target { name: "htk", read: features::read_htk, corpus: features::corpus_htk, memory: SMALL },
    Target { name: "sphinx", read: features::read_sphinx, corpus: features::corpus_sphinx, memory: SMALL },
    Target { name: "waves", read: features::read_wave, corpus: features::corpus_wave, memory: SMALL },
    Target { name: "lda", read: features::read_lda, corpus: features::corpus_lda, memory: SMALL },
    Target { name: "gauss-posteriors", read: read_gauss_post, corpus: corpus_gauss_post, memory: SMALL },
    Target { name: "idx", read: learning::read_idx, corpus: learning::corpus_idx, memory: SMALL },
    Target {
        name: "learning-rules",
        read: learning::read_rules,
        corpus: learning::corpus_rules,
        memory: SMALL,
    },
    Target {
        name: "learning-states",
        read: learning::read_state,
        corpus: learning::corpus_states,
        memory: SMALL,
    },
    Target {
        name: "rnnlm-examples",
        read: rnnlm::read_example,
        corpus: rnnlm::corpus_examples,
        memory: SMALL,
    },
    Target { name: "sampling-lms", read: rnnlm::read_lm, corpus: rnnlm::corpus_lms, memory: SMALL },
    Target { name: "sampling-arpas", read: rnnlm::read_arpa, corpus: rnnlm::corpus_arpas, memory: LARGE },
    Target { name: "weighted-text", read: rnnlm::read_text, corpus: rnnlm::corpus_texts, memory: LARGE },
    Target {
        name: "word-features",
        read: rnnlm::read_features,
        corpus: rnnlm::corpus_features,
        memory: SMALL,
    },
    Target { name: "fsts", read: chain::read_fst, corpus: chain::corpus_fsts, memory: SMALL },
    Target {
        name: "chain-examples",
        read: chain::read_chain_example,
        corpus: chain::corpus_chain_examples,
        memory: SMALL,
    },
    Target {
        name: "discriminative-examples",
        read: discriminative::read_example,
        corpus: discriminative::corpus_examples,
        memory: SMALL,
    },
    Target { name: "symbols", read: graphs::read_symbols, corpus: graphs::corpus_symbols, memory: SMALL },
    Target {
        name: "graph-halves",
        read: graphs::read_graph_halves,
        corpus: graphs::corpus_graph_halves,
        memory: SMALL,
    },
    Target {
        name: "openfst-text",
        read: graphs::read_openfst_text,
        corpus: graphs::corpus_openfst_text,
        memory: LARGE,
    },
    Target { name: "arpa", read: graphs::read_arpa, corpus: graphs::corpus_arpa, memory: LARGE },
    Target { name: "grammars", read: graphs::read_grammar, corpus: graphs::corpus_grammar, memory: SMALL },
    Target { name: "kws-indices", read: keywords::read_index, corpus: keywords::corpus_index, memory: LARGE },
    Target { name: "g2p-models", read: g2p::read_model, corpus: g2p::corpus_models, memory: LARGE },
    Target { name: "textgrids", read: corpora::read_grid, corpus: corpora::corpus_grids, memory: SMALL },
    Target { name: "elan", read: corpora::read_eaf, corpus: corpora::corpus_eafs, memory: SMALL },
    Target { name: "lexicons", read: g2p::read_lexicon, corpus: g2p::corpus_lexicons, memory: SMALL },
    Target { name: "ilabels", read: graphs::read_ilabels, corpus: graphs::corpus_ilabels, memory: SMALL },
    Target {
        name: "lattices",
        read: decoding::read_lattice,
        corpus: decoding::corpus_lattices,
        memory: SMALL,
    },
    Target {
        name: "arpa-to-const-arpa",
        read: decoding::read_arpa,
        corpus: decoding::corpus_arpa,
        memory: LARGE,
    },
    Target {
        name: "const-arpa",
        read: decoding::read_const_arpa,
        corpus: decoding::corpus_const_arpa,
        memory: SMALL,
    },
    Target {
        name: "alignment-lists",
        read: decoding::read_alignment_lists,
        corpus: decoding::corpus_alignment_lists,
        memory: SMALL,
    },
    Target { name: "tree-stats", read: trees::read_stats, corpus: trees::corpus_stats, memory: SMALL },
    Target { name: "questions", read: trees::read_questions, corpus: trees::corpus_questions, memory: SMALL },
    Target {
        name: "mixtures",
        read: gaussians::read_mixtures,
        corpus: gaussians::corpus_mixtures,
        memory: SMALL,
    },
    Target {
        name: "gaussian-stats",
        read: gaussians::read_stats,
        corpus: gaussians::corpus_stats,
        memory: SMALL,
    },
    Target {
        name: "full-mixtures",
        read: gaussians::read_full_mixture,
        corpus: gaussians::corpus_full_mixtures,
        memory: SMALL,
    },
    Target {
        name: "full-statistics",
        read: gaussians::read_full_stats,
        corpus: gaussians::corpus_full_stats,
        memory: SMALL,
    },
    Target { name: "mllt-stats", read: gaussians::read_mllt, corpus: gaussians::corpus_mllt, memory: SMALL },
    Target {
        name: "basis-stats",
        read: gaussians::read_basis_stats,
        corpus: gaussians::corpus_basis_stats,
        memory: SMALL,
    },
    Target {
        name: "fmllr-basis",
        read: gaussians::read_basis,
        corpus: gaussians::corpus_basis,
        memory: SMALL,
    },
    Target { name: "phone-lists", read: trees::read_phones, corpus: trees::corpus_phones, memory: LARGE },
    Target {
        name: "ivector-extractors",
        read: online::read_extractor,
        corpus: online::corpus_extractors,
        memory: SMALL,
    },
    Target {
        name: "ivector-stats",
        read: online::read_extractor_stats,
        corpus: online::corpus_extractor_stats,
        memory: SMALL,
    },
    Target {
        name: "adaptation-states",
        read: online::read_state,
        corpus: online::corpus_states,
        memory: SMALL,
    },
    Target { name: "plda", read: speakers::read_plda, corpus: speakers::corpus_plda, memory: SMALL },
    Target {
        name: "logistic-regression",
        read: speakers::read_logistic,
        corpus: speakers::corpus_logistic,
        memory: LARGE,
    },
    Target {
        name: "serve-messages",
        read: serve::read_message,
        corpus: serve::corpus_messages,
        memory: LARGE,
    },
    Target { name: "specifiers", read: read_specifier, corpus: corpus_specifiers, memory: SMALL },
];

/// Large objects are read in pieces of a megabyte; rows of a few bytes become vectors.
const SMALL: (usize, usize) = (600, 4 << 20);

/// Components make tables of columns from a few sizes, which are limited; language models have a place for each number
/// of a word.
const LARGE: (usize, usize) = (4000, 1 << 29);

pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

fn reader(input: &[u8]) -> KaldiReader {
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    // A header that is cut short is an error like any other.
    let _ = r.detect_header();
    r
}

/// Writes the header of an object's file, and then the output of `write`.
fn written(binary: bool, write: impl FnOnce(&mut KaldiWriter)) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    write(&mut w);
    let bytes = w.into_bytes();
    if binary { [b"\0B", &bytes[..]].concat() } else { bytes }
}

fn both(write: impl Fn(&mut KaldiWriter)) -> Vec<Vec<u8>> {
    [true, false].map(|binary| written(binary, &write)).into()
}

fn holder<H: Holder>(value: &H::T) -> Vec<Vec<u8>> {
    [true, false].map(|binary| written(binary, |w| H::write(w, value).expect("in memory"))).into()
}

// ---- tokens and numbers ----------------------------------------------------------------------------------------

/// Reads objects repeatedly. The first byte of the rest chooses the kind of the next object.
fn read_basic(input: &[u8]) {
    let Some((&first, rest)) = input.split_first() else { return };
    let mut r = reader(rest);
    for i in 0..16 {
        let failed = match (first >> (i % 4)) % 8 {
            0 => r.read_token().is_err(),
            1 => r.read_i32().is_err(),
            2 => r.read_f32().is_err(),
            3 => r.read_f64().is_err(),
            4 => r.read_bool().is_err(),
            5 => r.read_i32_vector().is_err(),
            6 => r.peek_token().is_err(),
            _ => r.expect_token("<A>").is_err(),
        };
        if failed {
            break;
        }
    }
}

fn corpus_basic() -> Vec<Vec<u8>> {
    let write = |w: &mut KaldiWriter| {
        w.write_token("<A>").expect("in memory");
        w.write_i32(-17).expect("in memory");
        w.write_f32(0.5).expect("in memory");
        w.write_f64(-1e30).expect("in memory");
        w.write_bool(true).expect("in memory");
        w.write_i32_vector(&[1, -2, 3]).expect("in memory");
    };
    both(write)
        .into_iter()
        .flat_map(|text| [0u8, 1, 83, 255].map(|first| [&[first], &text[..]].concat()))
        .collect()
}

// ---- matrices --------------------------------------------------------------------------------------------------

fn dense(rows: usize, cols: usize) -> DenseMatrix<f32> {
    DenseMatrix { rows, cols, data: (0..rows * cols).map(|i| i as f32 * 0.75 - 4.5).collect() }
}

fn read_matrices(input: &[u8]) {
    let _ = MatrixHolder::read(&mut reader(input));
    let _ = DoubleMatrixHolder::read(&mut reader(input));
    let _ = VectorHolder::read(&mut reader(input));
    let _ = ObjectHolder::<PackedMatrix<f32>>::read(&mut reader(input));
}

fn corpus_matrices() -> Vec<Vec<u8>> {
    let mut out = holder::<MatrixHolder>(&dense(3, 4));
    out.extend(holder::<DoubleMatrixHolder>(&dense(2, 2).convert()));
    out.extend(holder::<VectorHolder>(&dense(1, 5).data));
    out.extend(holder::<ObjectHolder<PackedMatrix<f32>>>(&PackedMatrix { dim: 3, data: vec![1.5; 6] }));
    out
}

fn read_compressed(input: &[u8]) {
    let _ = GeneralMatrixHolder::read(&mut reader(input)).map(|m| m.to_dense());
    let _ = MatrixHolder::read(&mut reader(input));
}

fn corpus_compressed() -> Vec<Vec<u8>> {
    use CompressionMethod::*;
    let methods = [
        SpeechFeature,
        TwoByteAuto,
        TwoByteSignedInteger,
        OneByteAuto,
        OneByteUnsignedInteger,
        OneByteZeroOne,
    ];
    let compress = |method| CompressedMatrix::compress(&dense(9, 3), method).expect("a matrix");
    methods.into_iter().flat_map(|method| holder::<GeneralMatrixHolder>(&compress(method).into())).collect()
}

fn read_general(input: &[u8]) {
    let _ = GeneralMatrixHolder::read(&mut reader(input)).map(|m| m.rows());
}

fn corpus_general() -> Vec<Vec<u8>> {
    let rows = vec![SparseVector::new(3, vec![(1, 0.5), (2, 0.5)]).expect("a row"); 3];
    let mut out = holder::<GeneralMatrixHolder>(&SparseMatrix { rows }.into());
    out.extend(holder::<GeneralMatrixHolder>(&dense(2, 3).into()));
    out
}

fn read_lists(input: &[u8]) {
    let _ = I32Holder::read(&mut reader(input));
    let _ = I32VectorHolder::read(&mut reader(input));
    let _ = I32VectorVectorHolder::read(&mut reader(input));
    let _ = I32PairVectorHolder::read(&mut reader(input));
    let _ = PosteriorHolder::read(&mut reader(input));
    let _ = TokenVectorHolder::read(&mut reader(input));
    let _ = kaldi_io::Contents::of(input);
}

fn corpus_lists() -> Vec<Vec<u8>> {
    let mut out = holder::<I32VectorHolder>(&vec![1, 2, -3]);
    out.extend(holder::<I32VectorVectorHolder>(&vec![vec![1, 2], vec![], vec![3]]));
    out.extend(holder::<I32PairVectorHolder>(&vec![(1, 2), (3, 4)]));
    out.extend(holder::<PosteriorHolder>(&vec![vec![(1, 0.5), (7, 0.5)], vec![(2, 1.0)]]));
    out
}

fn read_gauss_post(input: &[u8]) {
    if let Ok(posterior) = GaussPostHolder::read(&mut reader(input)) {
        let mut w = KaldiWriter::in_memory(true);
        GaussPostHolder::write(&mut w, &posterior).expect("in memory");
    }
    let _ = F32PairVectorHolder::read(&mut reader(input));
    let _ = I8VectorHolder::read(&mut reader(input));
}

fn corpus_gauss_post() -> Vec<Vec<u8>> {
    let mut out = holder::<GaussPostHolder>(&vec![vec![(4, vec![1.0, -2.0]), (0, vec![0.5])], vec![]]);
    out.extend(holder::<F32PairVectorHolder>(&vec![(1.5, 2.0), (-3.0, 0.25)]));
    out.extend(holder::<I8VectorHolder>(&vec![1, -2, 100]));
    out
}

// ---- networks --------------------------------------------------------------------------------------------------

fn read_example(input: &[u8]) {
    let _ = ExampleHolder::read(&mut reader(input));
}

fn corpus_examples() -> Vec<Vec<u8>> {
    let rows = vec![SparseVector::new(5, vec![(3, 1.0)]).expect("a row"); 4];
    let targets: GeneralMatrix = SparseMatrix { rows }.into();
    let mut example = NnetExample {
        ios: vec![NnetIo::new("input", dense(6, 3).into(), -1, 1), NnetIo::new("output", targets, 0, 1)],
    };
    let mut out = holder::<ExampleHolder>(&example);
    example.compress().expect("an example");
    out.extend(holder::<ExampleHolder>(&example));
    out
}

// ---- topologies, trees, transition models ----------------------------------------------------------------------

fn read_hmm(input: &[u8]) {
    let _ = HmmTopology::read(&mut reader(input));
    let _ = ContextDependency::read(&mut reader(input));
    if let Ok(model) = TransitionModel::read(&mut reader(input)) {
        for id in model.ids() {
            let _ = (model.pdf(id), model.next_hmm_state(id));
        }
    }
}

fn corpus_hmms() -> Vec<Vec<u8>> {
    let topology = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
        <State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
        <State> 1 <ForwardPdfClass> 1 <SelfLoopPdfClass> 1 <Transition> 2 1 </State> <State> 2 </State> \
        </TopologyEntry> </Topology> ";
    let tree = "ContextDependency 2 1 ToPdf TE 1 3 ( NULL SE 0 [ 1 2 ] { CE 0 CE 1 } TE -1 2 ( CE 2 CE 3 ) ) \
        EndContextDependency ";
    let topology = HmmTopology::read(&mut reader(topology.as_bytes())).expect("a topology");
    let tree = ContextDependency::read(&mut reader(tree.as_bytes())).expect("a tree");
    let model = TransitionModel::new(&tree, topology.clone()).expect("a transition model");
    let mut corpus = both(|w| topology.write(w).expect("in memory"));
    corpus.extend(both(|w| tree.write(w).expect("in memory")));
    corpus.extend(both(|w| model.write(w).expect("in memory")));
    corpus
}

// ---- names of files and tables ---------------------------------------------------------------------------------

fn read_specifier(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = Rspecifier::parse(&text);
    let _ = Wspecifier::parse(&text);
    let _ = RxFilename::parse(&text);
    let _ = WxFilename::parse(&text);
    if let Ok((_, Some(range))) = kaldi_io::filename::split_range(&text) {
        let _ = kaldi_io::filename::matrix_range(range, 100, 40);
        let _ = kaldi_io::filename::vector_range(range, 100);
    }
}

fn corpus_specifiers() -> Vec<Vec<u8>> {
    [
        "ark,s,cs:copy-feats scp:x ark:- |",
        "scp,p,bg:a.scp",
        "ark,t,f:-",
        "ark,scp:a,b",
        "b.ark:123[0:9,3:4]",
        "| gzip -c > x",
        "x:17",
        "",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// Writes each example that was read, and merges it with itself.
fn read_sequence_example<S: SequenceSupervision>(input: &[u8]) {
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    let Ok(example) = ObjectHolder::<SequenceExample<S>>::read(&mut r) else { return };
    let names =
        example.inputs.iter().map(|io| &io.name).chain(example.outputs.iter().map(|output| &output.name));
    if !names.into_iter().all(|name| kaldi_io::text::is_token(name)) {
        // Tokens with control characters are read, but not written.
        return;
    }
    let mut w = KaldiWriter::in_memory(true);
    ObjectHolder::<SequenceExample<S>>::write(&mut w, &example).expect("in memory");
    if let Ok(minibatch) = Example::merge(vec![example.clone(), example], false) {
        let mut w = KaldiWriter::in_memory(true);
        ObjectHolder::<SequenceExample<S>>::write(&mut w, &minibatch)
            .expect("a minibatch that can be stored");
    }
}
