//! Compares clusters with the results of slow, obvious algorithms.

use super::*;
use crate::gauss::Gauss;
use crate::scalar::Scalar;
use crate::stats::Sum;

fn scalars(values: &[f32]) -> Vec<Scalar> {
    values.iter().map(|&x| Scalar::new(x)).collect()
}

fn rand() -> impl FnMut() -> i32 {
    let mut random = fastrand::Rng::with_seed(3);
    move || random.i32(0..i32::MAX)
}

/// The objective function of points in these clusters.
fn objf_of(points: &[Scalar], assignments: &[usize]) -> f32 {
    let count = assignments.iter().max().map_or(0, |largest| largest + 1);
    let clusters = (0..count)
        .filter_map(|c| sum((0..points.len()).filter(|&i| assignments[i] == c).map(|i| &points[i])));
    sum_objf(&clusters.collect::<Vec<_>>())
}

/// Merges the two nearest clusters, again and again, with all distances anew each time.
fn slow_bottom_up(points: &[Scalar], max_distance: f32, min_clusters: usize) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = (0..points.len()).map(|i| vec![i]).collect();
    let stats = |cluster: &[usize]| sum(cluster.iter().map(|&i| &points[i])).unwrap();
    while clusters.len() > min_clusters {
        let mut nearest = (f32::INFINITY, 0, 0);
        for i in 0..clusters.len() {
            for j in 0..i {
                let (a, b) = (stats(&clusters[i]), stats(&clusters[j]));
                let distance = a.distance(a.objf(), &b, b.objf());
                if distance < nearest.0 {
                    nearest = (distance, i, j);
                }
            }
        }
        if nearest.0 > max_distance {
            break;
        }
        let merged = clusters.remove(nearest.1);
        clusters[nearest.2].extend(merged);
    }
    clusters.iter_mut().for_each(|cluster| cluster.sort_unstable());
    clusters.sort();
    clusters
}

#[test]
fn nearest_clusters_are_merged() {
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..30 {
        let values: Vec<f32> = (0..25).map(|_| random.f32() * 20.0).collect();
        let points = scalars(&values);
        let (max_distance, min_clusters) = if round % 2 == 0 { (f32::INFINITY, 5) } else { (3.0, 1) };
        let merged = bottom_up(&points, max_distance, min_clusters);
        let mut clusters = vec![Vec::new(); merged.clusters.len()];
        merged.assignments.iter().enumerate().for_each(|(i, &c)| clusters[c].push(i));
        clusters.sort();
        assert_eq!(clusters, slow_bottom_up(&points, max_distance, min_clusters));
        assert!((merged.change - objf_of(&points, &merged.assignments)).abs() < 1e-2);
        let sums =
            clusters.iter().map(|c| sum(c.iter().map(|&i| &points[i])).unwrap().normalizer()).sum::<f32>();
        assert_eq!((sums, sum_normalizers(&merged.clusters)), (25.0, 25.0));
    }
}

#[test]
fn compartments_are_not_mixed() {
    let first = scalars(&[0.0, 0.1, 5.0, 5.3]);
    let second = scalars(&[0.0, 0.2, 9.0]);
    let (change, assignments) = compartments::bottom_up(&[first.clone(), vec![], second.clone()], 4);
    assert_eq!(assignments, [vec![0, 0, 1, 1], vec![], vec![0, 0, 1]]);
    let expected = objf_of(&first, &assignments[0]) + objf_of(&second, &assignments[2]);
    assert!((change - expected).abs() < 1e-4, "{change} {expected}");
    // Down to one cluster each; then no merge is possible.
    let (_, assignments) = compartments::bottom_up(&[first, vec![], second], 1);
    assert_eq!(assignments, [vec![0; 4], vec![], vec![0; 3]]);
}

/// Three bunches: every way to divide the points is tried.
#[test]
fn k_means_finds_the_best_division() {
    let points = scalars(&[1.0, 1.2, 7.0, 0.9, 7.3, -5.0, -5.2, 7.1]);
    let options = KMeansOptions { verbose: false, ..KMeansOptions::default() };
    let (improvement, clusters, assignments) = k_means(&points, 3, &options, &mut rand(), &mut |_| {});
    let all = objf_of(&points, &[0; 8]);
    let mut best = f32::NEG_INFINITY;
    for mut code in 0..3_usize.pow(8) {
        let mut division = [0; 8];
        division.iter_mut().for_each(|cluster| {
            *cluster = code % 3;
            code /= 3;
        });
        best = best.max(objf_of(&points, &division));
    }
    assert!((improvement - (best - all)).abs() < 1e-3, "{improvement} {best}");
    assert!((objf_of(&points, &assignments) - best).abs() < 1e-3);
    assert!((sum_objf(&clusters) - best).abs() < 1e-3);
}

#[test]
fn refining_moves_points_to_where_they_belong() {
    let points = scalars(&[1.0, 1.1, 9.0, 9.1]);
    let mut assignments = [0, 1, 0, 1];
    let mut clusters = vec![sum([&points[0], &points[2]]).unwrap(), sum([&points[1], &points[3]]).unwrap()];
    let before = sum_objf(&clusters);
    let gain = refine(&points, &mut clusters, &mut assignments, RefineOptions::default());
    assert_eq!((assignments[0], assignments[2]), (assignments[1], assignments[3]));
    assert_ne!(assignments[0], assignments[2]);
    assert!((sum_objf(&clusters) - before - gain).abs() < 1e-3);
    assert_eq!(
        refine(&points, &mut clusters, &mut assignments, RefineOptions { num_iters: 0, top_n: 2 }),
        0.0
    );
}

#[test]
fn a_hierarchy() {
    let points = scalars(&[1.0, 1.2, 7.0, 0.9, 7.3, -5.0]);
    let options = TreeClusterOptions::default();
    let tree = tree_cluster(&points, 6, &options, &mut rand(), &mut |_| {}).unwrap();
    assert_eq!((tree.num_leaves, tree.clusters.len(), tree.parents.len()), (6, 11, 11));
    assert_eq!(tree.parents[10], 10);
    for (cluster, &parent) in tree.parents.iter().enumerate().take(10) {
        assert!(parent > cluster && parent >= tree.num_leaves, "{:?}", tree.parents);
    }
    for inner in tree.num_leaves..11 {
        let children: Vec<usize> = (0..10).filter(|&c| tree.parents[c] == inner).collect();
        let sum: f32 = children.iter().map(|&c| tree.clusters[c].normalizer()).sum();
        assert_eq!((children.len(), sum), (2, tree.clusters[inner].normalizer()));
    }
    assert!((tree.improvement + objf_of(&points, &[0; 6])).abs() < 1e-3);
    let tree = tree_cluster(&points, 3, &options, &mut rand(), &mut |_| {}).unwrap();
    let assignments = tree.assignments;
    assert_eq!(tree.num_leaves, 3);
    assert!(
        assignments[0] == assignments[1]
            && assignments[0] == assignments[3]
            && assignments[2] == assignments[4]
    );
    assert!(tree_cluster::<Scalar>(&[], 3, &options, &mut rand(), &mut |_| {}).is_none());
}

/// Statistics of vectors are clustered by their sums of squares.
#[test]
fn vectors() {
    let gauss = |x: f32, y: f32| {
        let mut stats = Gauss::new(2, 0.01);
        for d in [-0.5, 0.5] {
            stats.add_frame(&[x + d, y - d]);
        }
        stats
    };
    let points = [gauss(0.0, 0.0), gauss(0.1, 0.0), gauss(8.0, 1.0), gauss(8.0, 1.2)];
    let merged = bottom_up(&points, f32::INFINITY, 2);
    assert_eq!(merged.assignments, [0, 0, 1, 1]);
    let mut total = Sum::new();
    for point in &points {
        total.add(crate::TreeStats { entries: vec![(vec![], point.clone())] }).unwrap();
    }
    let both = merged.clusters[0].objf_plus(&merged.clusters[1]);
    assert!((both - total.finish().entries[0].1.objf()).abs() < 1e-3);
}
