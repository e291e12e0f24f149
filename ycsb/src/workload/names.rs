//! The property names of YCSB.

/// The names that are used.
const USED: [&str; 13] = [
    "recordcount",
    "operationcount",
    "readproportion",
    "updateproportion",
    "insertproportion",
    "scanproportion",
    "readmodifywriteproportion",
    "requestdistribution",
    "zipfianconstant",
    "minscanlength",
    "maxscanlength",
    "scanlengthdistribution",
    "insertorder",
];

/// Names of YCSB's client and core workload that are ignored: keys and values are numbers of eight
/// bytes, and the caller of a plan chooses workers and repetitions.
const UNUSED: [&str; 36] = [
    "workload",
    "db",
    "table",
    "fieldcount",
    "fieldlength",
    "minfieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "readallfields",
    "readallfieldsbyname",
    "writeallfields",
    "dataintegrity",
    "zeropadding",
    "insertstart",
    "insertcount",
    "core_workload_insertion_retry_limit",
    "core_workload_insertion_retry_interval",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "dotransactions",
    "threadcount",
    "target",
    "maxexecutiontime",
    "measurementtype",
    "measurement",
    "exporter",
    "exportfile",
    "label",
    "status",
    "histogram",
    "hdrhistogram",
    "reportlatencyforeacherror",
    "latencytrackederrors",
    "warmupexecutiontime",
    "command",
];

/// Returns true if YCSB has the property, but it is ignored here. Names with a dot belong to
/// database bindings and to the output of measurements.
pub(super) fn is_unused(name: &str) -> bool {
    UNUSED.contains(&name)
        || name.split_once('.').is_some_and(|(part, rest)| !part.is_empty() && !rest.is_empty())
}

/// Returns the error for an unknown name, with a suggestion.
pub(super) fn unknown(name: &str) -> String {
    let known = USED.iter().chain(&UNUSED);
    let closest = xtasking_harness_core::spelling::closest(name, known.copied());
    let hint = match closest {
        Some(closest) => format!("did you mean '{closest}'?"),
        None => format!("known are {}", USED.join(", ")),
    };
    format!("unknown property '{name}'; {hint}")
}
