package main

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

func isKeys(r *redis.Client) {
	is("set", "OK")(r.Set(ctx, "k", "value", 0).Result())
	is("exists", int64(2))(r.Exists(ctx, "k", "k", "none").Result())
	is("type", "string")(r.Type(ctx, "k").Result())
	is("expire", true)(r.Expire(ctx, "k", 100*time.Second).Result())
	left, err := r.PTTL(ctx, "k").Result()
	is("pttl", true)(left > 99*time.Second && left <= 100*time.Second, err)
	is("expire nx", false)(r.ExpireNX(ctx, "k", time.Second).Result())
	is("persist", true)(r.Persist(ctx, "k").Result())
	is("ttl of no key", time.Duration(-2))(r.TTL(ctx, "none").Result())
	is("expireat", true)(r.ExpireAt(ctx, "k", time.Unix(4102444800, 0)).Result())
	is("expiretime", 4102444800*time.Second)(r.ExpireTime(ctx, "k").Result())
	is("copy", int64(1))(r.Copy(ctx, "k", "k2", 0, false).Result())
	is("copy to a key", int64(0))(r.Copy(ctx, "k", "k2", 0, false).Result())
	is("rename", "OK")(r.Rename(ctx, "k2", "k3").Result())
	is("renamenx", false)(r.RenameNX(ctx, "k3", "k").Result())
	fails("rename of no key", r.Rename(ctx, "none", "k").Err(), "no such key")
	is("object encoding", "embstr")(r.ObjectEncoding(ctx, "k").Result())
	is("object encoding of a number", "int")(r.ObjectEncoding(ctx, "a").Result())
	is("touch", int64(1))(r.Touch(ctx, "k", "none").Result())
	is("unlink", int64(1))(r.Unlink(ctx, "k3", "none").Result())
	is("del", int64(0))(r.Del(ctx, "k3").Result())
	binary := make([]byte, 256)
	for i := range binary {
		binary[i] = byte(i)
	}
	is("a key of all bytes", "OK")(r.Set(ctx, string(binary), binary, 0).Result())
	is("get of all bytes", binary)(r.Get(ctx, string(binary)).Bytes())
	large := strings.Repeat(string(binary), 4096)
	is("set of 1 MiB", "OK")(r.Set(ctx, "large", large, 0).Result())
	truth("get of 1 MiB", r.Get(ctx, "large").Val() == large)
	dump := r.Dump(ctx, "large").Val()
	is("restore", "OK")(r.Restore(ctx, "large2", 0, dump).Result())
	truth("get of what was restored", r.Get(ctx, "large2").Val() == large)
	fails("restore of a busy key", r.Restore(ctx, "large2", 0, dump).Err(), "BUSYKEY")
	is("restore replace", "OK")(r.RestoreReplace(ctx, "large2", time.Minute, dump).Result())
	fails("restore of bad bytes", r.Restore(ctx, "bad", 0, "badbadbadbadbad").Err(), "checksum")
	usage, err := r.MemoryUsage(ctx, "large").Result()
	is("memory usage", true)(usage >= 1<<20, err)
}

func isGeo(r *redis.Client) {
	palermo := &redis.GeoLocation{Longitude: 13.361389, Latitude: 38.115556, Name: "Palermo"}
	catania := &redis.GeoLocation{Longitude: 15.087269, Latitude: 37.502669, Name: "Catania"}
	is("geoadd", int64(2))(r.GeoAdd(ctx, "g", palermo, catania).Result())
	is("geodist", 166.2742)(r.GeoDist(ctx, "g", "Palermo", "Catania", "km").Result())
	is("geohash", []string{"sqc8b49rny0"})(r.GeoHash(ctx, "g", "Palermo").Result())
	places, err := r.GeoPos(ctx, "g", "Palermo", "none").Result()
	is("geopos", true)(len(places) == 2 && places[0].Longitude > 13.3613 && places[1] == nil, err)
	near := redis.GeoSearchQuery{Longitude: 15, Latitude: 37, Radius: 100, RadiusUnit: "km"}
	is("geosearch", []string{"Catania"})(r.GeoSearch(ctx, "g", &near).Result())
	box := redis.GeoSearchStoreQuery{GeoSearchQuery: redis.GeoSearchQuery{Member: "Palermo", BoxWidth: 400, BoxHeight: 400, BoxUnit: "km"}}
	is("geosearchstore", int64(2))(r.GeoSearchStore(ctx, "g", "g2", &box).Result())
	is("pfadd", int64(1))(r.PFAdd(ctx, "p", "a", "b", "c").Result())
	is("pfcount", int64(3))(r.PFCount(ctx, "p").Result())
	is("pfadd", int64(1))(r.PFAdd(ctx, "q", "c", "d").Result())
	is("pfmerge", "OK")(r.PFMerge(ctx, "pq", "p", "q").Result())
	is("pfcount of both", int64(4))(r.PFCount(ctx, "pq").Result())
	is("rpush", int64(3))(r.RPush(ctx, "sortme", 3, 1, 2).Result())
	is("sort", []string{"1", "2", "3"})(r.Sort(ctx, "sortme", &redis.Sort{}).Result())
	r.MSet(ctx, "w_1", 9, "w_2", 5, "w_3", 1)
	by := &redis.Sort{By: "w_*", Get: []string{"#", "w_*"}, Count: 2}
	is("sort by get", strings.Fields("3 1 2 5"))(r.Sort(ctx, "sortme", by).Result())
	is("sort store", int64(3))(r.SortStore(ctx, "sortme", "sorted", &redis.Sort{Alpha: true, Order: "DESC"}).Result())
}

func distinct(iterator *redis.ScanIterator) (int, error) {
	seen := map[string]bool{}
	for iterator.Next(ctx) {
		seen[iterator.Val()] = true
	}
	return len(seen), iterator.Err()
}

func isIterators(r *redis.Client) {
	names, scored := make([]any, 0, 2000), make([]redis.Z, 0, 1000)
	for i := range 1000 {
		name := fmt.Sprintf("scan:%d", i)
		names = append(names, name, name+"!")
		scored = append(scored, redis.Z{Score: float64(i), Member: name})
	}
	is("mset of 1000", "OK")(r.MSet(ctx, names...).Result())
	is("scan", 1000)(distinct(r.Scan(ctx, 0, "scan:*", 50).Iterator()))
	is("scan of a type", 0)(distinct(r.ScanType(ctx, 0, "scan:*", 50, "list").Iterator()))
	is("hset of 1000", int64(1000))(r.HSet(ctx, "many", names...).Result())
	is("hscan", 2000)(distinct(r.HScan(ctx, "many", 0, "", 10).Iterator()))
	is("sadd of 2000", int64(2000))(r.SAdd(ctx, "manys", names...).Result())
	is("sscan", 1000)(distinct(r.SScan(ctx, "manys", 0, "*!", 10).Iterator()))
	is("zadd of 1000", int64(1000))(r.ZAdd(ctx, "manyz", scored...).Result())
	is("zscan", 22)(distinct(r.ZScan(ctx, "manyz", 0, "*:99*", 10).Iterator()))
}

func isPipelines(r *redis.Client) {
	commands, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for range 500 {
			pipe.Incr(ctx, "pipelined")
		}
		return nil
	})
	is("pipeline", 500)(len(commands), err)
	is("last of a pipeline", int64(500))(commands[499].(*redis.IntCmd).Result())
	pipe := r.Pipeline()
	pipe.Set(ctx, "t", "v", 0)
	wrong, get := pipe.LPush(ctx, "t", "x"), pipe.Get(ctx, "t")
	_, err = pipe.Exec(ctx)
	fails("error in a pipeline", err, "WRONGTYPE")
	fails("the command with the error", wrong.Err(), "WRONGTYPE")
	is("those after it are run", "v")(get.Result())
}

func isTransactions(r *redis.Client) {
	pipe := r.TxPipeline()
	pipe.Set(ctx, "t", 1, 0)
	incr := pipe.Incr(ctx, "t")
	pipe.Exec(ctx)
	is("transaction", int64(2))(incr.Result())
	pipe.Do(ctx, "INCR")
	pipe.Set(ctx, "t", 5, 0)
	_, err := pipe.Exec(ctx)
	fails("a transaction with an error", err, "EXECABORT")
	is("nothing of it is done", "2")(r.Get(ctx, "t").Result())
	change := func(other bool) error {
		return r.Watch(ctx, func(tx *redis.Tx) error {
			if other {
				r.Set(ctx, "t", 10, 0)
			}
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Incr(ctx, "t").Err() })
			return err
		}, "t")
	}
	truth("watched key changes", errors.Is(change(true), redis.TxFailedErr))
	truth("watched key stays", change(false) == nil)
	is("what it has then", "11")(r.Get(ctx, "t").Result())
	r.Set(ctx, "sum", 0, 0)
	add := func(tx *redis.Tx) error {
		value, err := tx.Get(ctx, "sum").Int()
		if err == nil {
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Set(ctx, "sum", value+1, 0).Err() })
		}
		return err
	}
	all(4, func(int) {
		for done := 0; done < 25; {
			if err := r.Watch(ctx, add, "sum"); err == nil {
				done++
			} else if !errors.Is(err, redis.TxFailedErr) {
				return
			}
		}
	})
	is("optimistic retry", "100")(r.Get(ctx, "sum").Result())
}

// woken runs a command as soon as another one waits.
func woken(r *redis.Client, waits func(), wakes func() error) {
	end := make(chan struct{})
	go func() {
		waits()
		close(end)
	}()
	for range 2000 {
		if r.InfoMap(ctx, "clients").Item("Clients", "blocked_clients") == "1" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := wakes(); err != nil {
		fails("what wakes", err, "no error")
	}
	<-end
}

func isWaits(r *redis.Client) {
	push := func(key string) func() error { return func() error { return r.RPush(ctx, key, "x").Err() } }
	second := 10 * time.Second
	woken(r, func() { is("blpop", []string{"q2", "x"})(r.BLPop(ctx, second, "q1", "q2").Result()) }, push("q2"))
	woken(r, func() { is("brpop", []string{"q1", "x"})(r.BRPop(ctx, second, "q1").Result()) }, push("q1"))
	woken(r, func() { is("blmove", "x")(r.BLMove(ctx, "q1", "q3", "LEFT", "LEFT", second).Result()) }, push("q1"))
	woken(r, func() { is("brpoplpush", "x")(r.BRPopLPush(ctx, "q1", "q3", second).Result()) }, push("q1"))
	is("moved elements", int64(2))(r.LLen(ctx, "q3").Result())
	woken(r, func() {
		key, values, err := r.BLMPop(ctx, second, "LEFT", 1, "q1").Result()
		is("blmpop", []string{"x"})(values, err)
		truth("key of blmpop", key == "q1")
	}, push("q1"))
	popped := &redis.ZWithKey{Z: redis.Z{Score: 1.5, Member: "m"}, Key: "bz"}
	woken(r, func() { is("bzpopmin", popped)(r.BZPopMin(ctx, second, "bz").Result()) },
		func() error { return r.ZAdd(ctx, "bz", popped.Z).Err() })
	truth("blpop that times out", errors.Is(r.Do(ctx, "BLPOP", "q1", 0.05).Err(), redis.Nil))
	connection := r.Conn()
	defer connection.Close()
	number := connection.ClientID(ctx).Val()
	woken(r, func() { truth("client unblock", errors.Is(connection.BLPop(ctx, second, "q1").Err(), redis.Nil)) },
		func() error { return r.ClientUnblock(ctx, number).Err() })
}

func isChannels(r *redis.Client) {
	subscriber := r.Subscribe(ctx, "news")
	defer subscriber.Close()
	subscription, err := subscriber.Receive(ctx)
	is[any]("subscribe", &redis.Subscription{Kind: "subscribe", Channel: "news", Count: 1})(subscription, err)
	subscriber.PSubscribe(ctx, "n*")
	subscriber.Receive(ctx)
	is("pubsub channels", []string{"news"})(r.PubSubChannels(ctx, "*").Result())
	is("pubsub numsub", map[string]int64{"news": 1, "none": 0})(r.PubSubNumSub(ctx, "news", "none").Result())
	is("pubsub numpat", int64(1))(r.PubSubNumPat(ctx).Result())
	is("publish", int64(2))(r.Publish(ctx, "news", "hello").Result())
	is("message", &redis.Message{Channel: "news", Payload: "hello"})(subscriber.ReceiveMessage(ctx))
	is("pmessage", &redis.Message{Channel: "news", Pattern: "n*", Payload: "hello"})(subscriber.ReceiveMessage(ctx))
	subscriber.Ping(ctx, "there")
	pong, err := subscriber.Receive(ctx)
	is[any]("ping of a subscriber", &redis.Pong{Payload: "there"})(pong, err)
	subscriber.Unsubscribe(ctx)
	subscriber.PUnsubscribe(ctx)
	subscriber.Receive(ctx)
	subscriber.Receive(ctx)
	is("publish to none", int64(0))(r.Publish(ctx, "news", "hello").Result())
	r.ConfigSet(ctx, "notify-keyspace-events", "K$")
	subscriber.PSubscribe(ctx, "__keyspace@0__:*")
	subscriber.Receive(ctx)
	r.Set(ctx, "watched", 1, 0)
	message, err := subscriber.ReceiveMessage(ctx)
	is("keyspace event", "set")(message.Payload, err)
	r.ConfigSet(ctx, "notify-keyspace-events", "")
}

func isServer(r *redis.Client) {
	is("ping", "PONG")(r.Ping(ctx).Result())
	is("echo", "hello")(r.Echo(ctx, "hello").Result())
	named := r.Conn()
	defer named.Close()
	is("client setname", "checker")("checker", named.ClientSetName(ctx, "checker").Err())
	is("client getname", "checker")(named.ClientGetName(ctx).Result())
	info, err := named.ClientInfo(ctx).Result()
	is("client info", "checker")(info.Name, err)
	is("client id", info.ID)(named.ClientID(ctx).Result())
	list, err := r.ClientList(ctx).Result()
	is("client list", true)(strings.Contains(list, " name=checker "), err)
	is("client kill", int64(1))(r.ClientKillByFilter(ctx, "ID", fmt.Sprint(info.ID)).Result())
	truth("a killed connection", named.Ping(ctx).Err() != nil)
	is("config get", map[string]string{"databases": "16"})(r.ConfigGet(ctx, "databases").Result())
	fails("config set", r.ConfigSet(ctx, "none", "1").Err(), "Unknown option")
	is("version in info", "7.0.15")(r.InfoMap(ctx).Item("Server", "redis_version"), nil)
	is("role in info", "master")(r.InfoMap(ctx, "replication").Item("Replication", "role"), nil)
	commands, err := r.Command(ctx).Result()
	is("command", true)(len(commands) > 150 && commands["get"].Arity == 2 && commands["get"].ReadOnly, err)
	is("command getkeys", []string{"a", "b"})(r.CommandGetKeys(ctx, "MSET", "a", 1, "b", 2).Result())
	r.ConfigSet(ctx, "slowlog-log-slower-than", "0")
	r.Get(ctx, "a")
	log, err := r.SlowLogGet(ctx, 10).Result()
	is("slowlog", true)(len(log) > 0 && len(log[0].Args) > 0, err)
	r.ConfigSet(ctx, "slowlog-log-slower-than", "10000")
	now, err := r.Time(ctx).Result()
	is("time", true)(time.Since(now).Abs() < time.Minute, err)
	is("move", true)(r.Move(ctx, "watched", 5).Result())
	fifth := options(r.Options().Protocol)
	fifth.DB = 5
	other := redis.NewClient(fifth)
	defer other.Close()
	is("get in another database", "1")(other.Get(ctx, "watched").Result())
	is("swapdb", "OK")(r.Do(ctx, "SWAPDB", 0, 5).Text())
	is("get after it", "1")(r.Get(ctx, "watched").Result())
	is("swapdb", "OK")(r.Do(ctx, "SWAPDB", 0, 5).Text())
	fails("wrong type", r.LPush(ctx, "k", "x").Err(), "WRONGTYPE")
	fails("wrong type of a hash", r.HGet(ctx, "k", "x").Err(), "WRONGTYPE")
	fails("unknown command", r.Do(ctx, "NONE", "x").Err(), "ERR unknown command")
	fails("wrong number of arguments", r.Do(ctx, "GET").Err(), "ERR wrong number")
	fails("out of range", r.LSet(ctx, "sortme", 99, "x").Err(), "index out of range")
}

func isPool(r *redis.Client) {
	var wrong atomic.Int64
	all(8, func(part int) {
		key := fmt.Sprintf("pool:%d", part)
		for i := range 200 {
			r.Set(ctx, key, i, 0)
			if value, err := r.Get(ctx, key).Int(); err != nil || value != i {
				wrong.Add(1)
			}
			r.Incr(ctx, "pool")
		}
	})
	truth("goroutines of a pool read what they wrote", wrong.Load() == 0)
	is("counter of all", "1600")(r.Get(ctx, "pool").Result())
}

func isThird(r *redis.Client) {
	hello, err := r.Do(ctx, "HELLO", 3).Result()
	is[any]("hello 3", int64(3))(hello.(map[any]any)["proto"], err)
	is[any]("a map", map[any]any{"databases": "16"})(r.Do(ctx, "CONFIG", "GET", "databases").Result())
	is[any]("a double", 7.0)(r.Do(ctx, "ZSCORE", "manyz", "scan:7").Result())
	is[any]("pairs", []any{[]any{"scan:0", 0.0}})(r.Do(ctx, "ZRANGE", "manyz", 0, 0, "WITHSCORES").Result())
	truth("null", errors.Is(r.Do(ctx, "GET", "none").Err(), redis.Nil))
}
