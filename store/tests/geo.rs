//! Places: what Redis says of them, for machines without it, and searches beside a look at all.

mod replies;

use replies::{run, start};
use xtasking_testing::Random;

const EARTH_RADIUS: f64 = 6_372_797.560856;

#[test]
fn replies_are_those_of_redis() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    for (line, reply) in [
        ("GEOADD s 13.361389 38.115556 p 15.087269 37.502669 c", ":2"),
        ("GEOADD s XX CH 13.361389 38.115557 p", ":0"),
        ("GEOADD s XX NX 1 1 p", "-ERR syntax error"),
        ("GEOADD s 1 1", "-ERR wrong number of arguments for 'geoadd' command"),
        ("GEOADD s 1 1 p 1", "-ERR syntax error"),
        ("GEOADD s x 1 p", "-ERR value is not a valid float"),
        ("GEOADD s 181 1 p", "-ERR invalid longitude,latitude pair 181.000000,1.000000"),
        ("ZSCORE s p", "$16 3479099956230698"),
        ("GEODIST s p c", "$11 166274.1516"),
        ("GEODIST s p c KM", "$8 166.2742"),
        ("GEODIST s p nothing", "$-1"),
        ("GEODIST s p c yd", "-ERR unsupported unit provided. please use M, KM, FT, MI"),
        ("GEOHASH s p c nothing", "*3 $11 sqc8b49rny0 $11 sqdtr74hyu0 $-1"),
        ("GEOPOS s p nothing", "*2 *2 $20 13.36138933897018433 $20 38.11555639549629859 *-1"),
        ("GEORADIUS s 15 37 200 km ASC WITHDIST", "*2 *2 $1 c $7 56.4413 *2 $1 p $8 190.4424"),
        ("GEORADIUS s 15 37 200 km COUNT 1 DESC WITHHASH", "*1 *2 $1 p :3479099956230698"),
        ("GEORADIUS s 15 37 200 km ANY", "-ERR the ANY argument requires COUNT argument"),
        ("GEORADIUS s 15 37 -1 km", "-ERR radius cannot be negative"),
        ("GEORADIUS_RO s 15 37 200 km STORE d", "-ERR syntax error"),
        ("GEORADIUSBYMEMBER s x 200 km", "-ERR could not decode requested zset member"),
        ("GEORADIUSBYMEMBER s p 200 km STOREDIST d", ":2"),
        ("ZRANGE d 0 -1 WITHSCORES", "*4 $1 p $1 0 $1 c $18 166.27415156960032"),
        ("GEORADIUSBYMEMBER nothing p 200 km STORE d", ":0"),
        ("EXISTS d", ":0"),
        ("GEOSEARCH s FROMLONLAT 15 37 BYBOX 400 400 km DESC", "*2 $1 p $1 c"),
        (
            "geosearch s FROMLONLAT 15 37 ASC ASC ASC",
            "-ERR exactly one of BYRADIUS and BYBOX can be specified for geosearch",
        ),
        ("GEOSEARCHSTORE d s FROMMEMBER p BYRADIUS 1 m", ":1"),
        ("ZRANGE d 0 -1 WITHSCORES", "*2 $1 p $16 3479099956230698"),
        ("SET t 1", "+OK"),
        ("GEOPOS t x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("HELLO 3", ""),
        ("GEOPOS s p nothing", "*2 *2 ,13.36138933897018433 ,38.11555639549629859 _"),
        ("GEODIST s p c", "$11 166274.1516"),
    ] {
        let own = run(&mut client, line);
        assert!(own == reply || line.starts_with("HELLO"), "{line}: {own}, not {reply}");
    }
}

/// Returns the distance by the haversine formula.
fn distance((lon1, lat1): (f64, f64), (lon2, lat2): (f64, f64)) -> f64 {
    let (lat1, lat2) = (lat1.to_radians(), lat2.to_radians());
    let u = ((lat2 - lat1) / 2.0).sin();
    let v = ((lon2 - lon1).to_radians() / 2.0).sin();
    2.0 * EARTH_RADIUS * (u * u + lat1.cos() * lat2.cos() * v * v).sqrt().asin()
}

/// Returns how far a point is from the center: 1 is the edge of the shape.
fn reach(center: (f64, f64), point: (f64, f64), (width, height): (f64, f64), is_box: bool) -> f64 {
    if !is_box {
        return distance(center, point) / width;
    }
    let abreast = distance(point, (center.0, point.1)) / (width / 2.0);
    abreast.max(distance(center, (center.0, point.1)) / (height / 2.0))
}

#[test]
fn searches_find_what_a_look_at_all_finds() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    let mut random = Random(3);
    let mut place = || {
        let mut within = |last: f64| last * (random.below(2_000_001) as f64 / 1e6 - 1.0);
        (within(180.0), within(70.0))
    };
    let places: Vec<_> = (0..2000).map(|_| place()).collect();
    for (number, (longitude, latitude)) in places.iter().enumerate() {
        run(&mut client, &format!("GEOADD all {longitude} {latitude} {number}"));
    }
    let mut found_all = 0;
    for round in 0..200u64 {
        let center = place();
        let size =
            (10.0 + 5e4 * 1.005f64.powi(7 * round as i32), 20.0 + 4e4 * 1.004f64.powi(7 * round as i32));
        let is_box = round % 2 == 1;
        let shape = match is_box {
            true => format!("BYBOX {} {} m", size.0, size.1),
            false => format!("BYRADIUS {} m", size.0),
        };
        let reply = run(&mut client, &format!("GEOSEARCH all FROMLONLAT {} {} {shape}", center.0, center.1));
        let mut found: Vec<usize> =
            reply.split(' ').skip(1).skip(1).step_by(2).map(|name| name.parse().unwrap()).collect();
        found.sort_unstable();
        found_all += found.len();
        for (number, &point) in places.iter().enumerate() {
            let reach = reach(center, point, size, is_box);
            // Scores are rounded, by less than a meter.
            let is_at_edge = (reach - 1.0).abs() < 1e-4;
            let is_found = found.binary_search(&number).is_ok();
            assert!(is_at_edge || is_found == (reach < 1.0), "{shape} at {center:?}: {number} at {point:?}");
        }
        let mut once = found.clone();
        once.dedup();
        assert_eq!(once, found, "{shape} at {center:?}: each once");
    }
    assert!(found_all > 1000, "the shapes were empty");
}

#[test]
fn scores_that_are_no_places_are_answered() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    for (number, score) in ["inf", "-inf", "-1", "1e300", "0.5", "9007199254740993"].iter().enumerate() {
        run(&mut client, &format!("ZADD z {score} {number}"));
        let place = run(&mut client, &format!("GEOPOS z {number}"));
        assert!(place.starts_with("*1 *2 $"), "{score}: {place}");
        assert!(run(&mut client, &format!("GEOHASH z {number}")).starts_with("*1 $11 "));
        run(&mut client, &format!("GEORADIUSBYMEMBER z {number} inf km COUNT 2"));
    }
}
