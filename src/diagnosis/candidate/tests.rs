use super::*;

fn store(rows: u64, bytes: u64, largest: u64) -> StoreFacts {
    let largest = Some((PartitionId(37), largest));
    StoreFacts { rows: Some(rows), bytes: Bytes(bytes), largest }
}

fn operator(name: &str, stores: Vec<StoreFacts>) -> OperatorFacts {
    OperatorFacts {
        id: OperatorId(0),
        name: name.to_owned(),
        described: true,
        keyless: false,
        join_format: None,
        stores,
    }
}

fn history(counts: &[u32]) -> Vec<HistoryEntry> {
    let entry = |(batch, partitions): (u64, &u32)| HistoryEntry {
        batch: BatchId(batch),
        partitions: Some(*partitions),
        repartition: false,
    };
    (100..).zip(counts).map(entry).collect()
}

/// 200 partitions of 10,000 rows and 500 kB, resized within the retained batches.
fn fits() -> Facts {
    Facts {
        status: Status::Committed,
        stateful: true,
        provider: Some(Provider::Rocksdb),
        partitions: Some(200),
        history: history(&[100, 200]),
        operators: vec![operator("dedupe", vec![store(2_000_000, 100_000_000, 10_300)])],
        errors: 0,
    }
}

fn with_store(store: StoreFacts) -> Facts {
    Facts { operators: vec![operator("dedupe", vec![store])], ..fits() }
}

fn kinds(facts: &Facts) -> (Standing, Vec<&'static str>, Vec<&'static str>) {
    let judged = Judgement::of(facts);
    (
        judged.standing,
        judged.reasons.iter().map(Reason::kind).collect(),
        judged.obstacles.iter().map(Obstacle::kind).collect(),
    )
}

#[test]
fn what_fits_is_left_alone() {
    assert_eq!(kinds(&fits()), (Standing::Healthy, vec![], vec![]));
    // An old count alone is worth a word, not a resize.
    let old = Facts { history: history(&[200, 200, 200]), ..fits() };
    assert_eq!(kinds(&old), (Standing::Healthy, vec!["never-revisited"], vec![]));
    let judged = Judgement::of(&old);
    assert_eq!(
        judged.reasons[0].sentence(),
        "200 partitions since batch 100, the oldest retained, never revisited"
    );
    let single = Facts { history: history(&[200]), ..fits() };
    assert_eq!(kinds(&single).1, Vec::<&str>::new(), "one batch shows no history");
    let back = Facts { history: history(&[200, 100, 200]), ..fits() };
    assert_eq!(kinds(&back).1, Vec::<&str>::new());
}

#[test]
fn large_partitions_are_judged_by_the_largest_store() {
    // 480 GB in 200 partitions: 2.4 GB each, 2.4 times the bound.
    let large = with_store(store(2_000_000_000, 480_000_000_000, 10_100_000));
    assert_eq!(kinds(&large), (Standing::Gain, vec!["large-partitions"], vec![]));
    let reason = &Judgement::of(&large).reasons[0];
    assert!((reason.factor() - 2.4).abs() < 1e-9);
    assert!(reason.sentence().starts_with("operator 0 has 2.4 GB per partition"));
    let at_bound = with_store(store(2_000_000_000, 200_000_000_000, 10_100_000));
    assert_eq!(kinds(&at_bound).0, Standing::Healthy);
}

#[test]
fn skew_needs_enough_rows_to_be_no_accident() {
    // Mean 10,000; 114,000 is 11.4 times that.
    let skewed = with_store(store(2_000_000, 100_000_000, 114_000));
    assert_eq!(kinds(&skewed), (Standing::Gain, vec!["skewed"], vec![]));
    let sentence = Judgement::of(&skewed).reasons[0].sentence();
    assert!(sentence.starts_with("partition 37 of operator 0 has 11.4 times the mean"));
    // Mean 9.
    let mut few = with_store(store(1800, 300_000_000, 100));
    assert_eq!(kinds(&few).0, Standing::Healthy);
    few.operators[0].stores[0].largest = None;
    assert_eq!(kinds(&few).0, Standing::Healthy);
}

#[test]
fn instances_are_nearly_empty_only_when_the_fullest_store_is() {
    // 200 instances of 3 rows and 10 kB.
    let empty = with_store(store(600, 2_000_000, 5));
    assert_eq!(kinds(&empty), (Standing::Gain, vec!["nearly-empty"], vec![]));
    let reason = &Judgement::of(&empty).reasons[0];
    assert!((reason.factor() - 2.0).abs() < 1e-9);
    assert!(reason.sentence().starts_with("200 instances hold 3 rows each"));

    let few = Facts { partitions: Some(99), ..empty.clone() };
    assert_eq!(kinds(&few).0, Standing::Healthy, "fewer than a hundred");
    let heavy = with_store(store(600, 300_000_000, 5));
    assert_eq!(kinds(&heavy).0, Standing::Healthy, "1.5 MB each");
    let mut beside = fits();
    beside.operators.push(operator("stateStoreSave", vec![store(600, 2_000_000, 5)]));
    assert_eq!(kinds(&beside).0, Standing::Healthy, "the other operator needs the count");

    // 25 partitions of a join with four stores are a hundred instances.
    let join = operator("symmetricHashJoin", vec![store(100, 200_000, 6); 4]);
    let join = Facts { operators: vec![join], partitions: Some(25), ..fits() };
    assert_eq!(kinds(&join).1, ["nearly-empty"]);

    let unknown = StoreFacts { rows: None, largest: None, ..store(0, 2_000_000, 0) };
    assert_eq!(kinds(&with_store(unknown)).1, ["nearly-empty"], "10 kB each");
    let unknown = StoreFacts { bytes: Bytes(20_000_000), ..unknown };
    assert_eq!(kinds(&with_store(unknown)).0, Standing::Healthy, "100 kB each");
}

#[test]
fn obstacles_forbid_whatever_there_is_to_gain() {
    let empty = with_store(store(600, 2_000_000, 5));
    let of = |facts: Facts| {
        let (standing, _, obstacles) = kinds(&facts);
        assert_eq!(standing, Standing::Forbidden);
        obstacles
    };
    let hdfs = Facts { provider: Some(Provider::Hdfs), ..empty.clone() };
    assert_eq!(of(hdfs), ["provider"]);
    assert_eq!(of(Facts { errors: 2, ..empty.clone() }), ["errors"]);
    assert_eq!(of(Facts { partitions: None, ..empty.clone() }), ["unknown-count"]);
    assert_eq!(of(Facts { stateful: false, operators: vec![], ..empty.clone() }), ["stateless"]);
    let never = Facts { status: Status::NoCommittedBatch, ..empty.clone() };
    assert_eq!(of(never), ["no-committed-batch"]);

    let with = |change: fn(&mut OperatorFacts)| {
        let mut facts = empty.clone();
        change(&mut facts.operators[0]);
        facts
    };
    let limit = with(|operator| {
        operator.name = "globalLimit".to_owned();
        operator.keyless = true;
    });
    assert_eq!(of(limit), ["streaming-limit"]);
    assert_eq!(of(with(|operator| operator.keyless = true)), ["keyless-aggregate"]);
    assert_eq!(of(with(|operator| operator.join_format = Some(4))), ["join-format-4"]);
    assert_eq!(of(with(|operator| operator.described = false)), ["no-operator-metadata"]);

    let mut unfinished = Facts { status: Status::UnfinishedRepartition, ..empty };
    unfinished.history = history(&[200, 200, 400]);
    assert_eq!(of(unfinished.clone()), ["unfinished-repartition"]);
    let sentence = Judgement::of(&unfinished).obstacles[0].sentence();
    assert!(sentence.contains("retry the same count, 400"), "{sentence}");
    // A query in the middle of a batch finishes it by itself.
    let pending = Facts { status: Status::Pending, ..fits() };
    assert_eq!(kinds(&pending).0, Standing::Healthy);
}

#[test]
fn one_partition_operators_say_nothing_about_the_count() {
    let mut limit = fits();
    limit.operators = vec![operator("globalLimit", vec![store(1, 20_000, 1)])];
    limit.operators[0].keyless = true;
    assert_eq!(kinds(&limit).1, Vec::<&str>::new());
}

#[test]
fn most_to_gain_first_then_the_forbidden_then_the_healthy() {
    let old = |facts: Facts| Facts { history: history(&[200, 200]), ..facts };
    let large = with_store(store(2_000_000_000, 480_000_000_000, 10_100_000));
    let skewed = |largest| with_store(store(2_000_000, 100_000_000, largest));
    let empty = with_store(store(600, 2_000_000, 5));
    let forbidden = |facts: Facts| Facts { provider: Some(Provider::Hdfs), ..facts };
    let expected = [
        large.clone(),
        old(skewed(114_000)),
        skewed(114_000),
        skewed(60_000),
        empty,
        forbidden(large),
        forbidden(fits()),
        old(fits()),
        fits(),
    ];
    let mut judged: Vec<(usize, Judgement)> =
        expected.iter().map(Judgement::of).enumerate().collect();
    judged.reverse();
    judged.sort_by(|(_, a), (_, b)| a.order(b));
    let order: Vec<usize> = judged.iter().map(|(index, _)| *index).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}
