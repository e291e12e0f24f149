// Command redis-check runs commands of go-redis against the server at a port and checks each answer:
// redis-check PORT.
//
// The server is emptied first. All runs in both versions of the protocol. The last line says how many checks passed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx            = context.Background()
	passed, failed int
)

func count(name string, ok bool, got, expected any) {
	if ok {
		passed++
		return
	}
	failed++
	fmt.Printf("FAILED %s: expected %v, got %v\n", name, expected, got)
}

// is returns a function that checks the result of a command.
func is[T any](name string, expected T) func(T, error) {
	return func(got T, err error) {
		if err != nil {
			count(name, false, err, expected)
		} else {
			count(name, reflect.DeepEqual(got, expected), got, expected)
		}
	}
}

// same is like is, for members that come in any order.
func same(name, expected string) func([]string, error) {
	return func(got []string, err error) {
		sort.Strings(got)
		is(name, expected)(strings.Join(got, " "), err)
	}
}

// truth checks a condition.
func truth(name string, holds bool) {
	count(name, holds, holds, true)
}

// fails checks that a command is refused with an error that has these words.
func fails(name string, err error, words string) {
	count(name, err != nil && strings.Contains(err.Error(), words), err, words)
}

func options(protocol int) *redis.Options {
	return &redis.Options{Addr: "127.0.0.1:" + os.Args[1], Protocol: protocol, PoolSize: 4, MaxRetries: -1}
}

func isStrings(r *redis.Client) {
	is("set", "OK")(r.Set(ctx, "s", "value", 0).Result())
	is("get", "value")(r.Get(ctx, "s").Result())
	truth("get of no key", errors.Is(r.Get(ctx, "none").Err(), redis.Nil))
	is("set nx", false)(r.SetNX(ctx, "s", "other", 0).Result())
	is("set xx", false)(r.SetXX(ctx, "none", "other", 0).Result())
	is("set get ex", "value")(r.SetArgs(ctx, "s", "second", redis.SetArgs{Get: true, TTL: time.Minute}).Result())
	is("append", int64(7))(r.Append(ctx, "s", "!").Result())
	is("strlen", int64(7))(r.StrLen(ctx, "s").Result())
	is("getrange", "sec")(r.GetRange(ctx, "s", 0, 2).Result())
	is("setrange", int64(7))(r.SetRange(ctx, "s", 6, "?").Result())
	is("getset", "second?")(r.Do(ctx, "GETSET", "s", "third").Text())
	is("getex", "third")(r.GetEx(ctx, "s", time.Minute).Result())
	is("getdel", "third")(r.GetDel(ctx, "s").Result())
	is("mset", "OK")(r.MSet(ctx, "a", 1, "b", 2).Result())
	is("mget", []any{"1", nil, "2"})(r.MGet(ctx, "a", "none", "b").Result())
	is("msetnx", false)(r.MSetNX(ctx, "b", 3, "c", 3).Result())
	is("setnx", true)(r.SetNX(ctx, "c", 3, 0).Result())
	is("incr", int64(1))(r.Incr(ctx, "n").Result())
	is("incrby", int64(42))(r.IncrBy(ctx, "n", 41).Result())
	is("decr", int64(41))(r.Decr(ctx, "n").Result())
	is("decrby", int64(1))(r.DecrBy(ctx, "n", 40).Result())
	is("incrbyfloat", 1.5)(r.IncrByFloat(ctx, "n", 0.5).Result())
	fails("incr of no integer", r.Incr(ctx, "n").Err(), "ERR value is not an integer")
	r.MSet(ctx, "x", "ohmytext", "y", "mynewtext")
	is("lcs", &redis.LCSMatch{MatchString: "mytext"})(r.LCS(ctx, &redis.LCSQuery{Key1: "x", Key2: "y"}).Result())
	is("setbit", int64(0))(r.SetBit(ctx, "bits", 7, 1).Result())
	is("getbit", int64(1))(r.GetBit(ctx, "bits", 7).Result())
	is("bitcount", int64(1))(r.BitCount(ctx, "bits", nil).Result())
	is("bitpos", int64(7))(r.BitPos(ctx, "bits", 1).Result())
	is("bitpos of bits", int64(7))(r.BitPosSpan(ctx, "bits", 1, 4, 7, "bit").Result())
	is("bitop not", int64(1))(r.BitOpNot(ctx, "not", "bits").Result())
	is("bitop and", int64(1))(r.BitOpAnd(ctx, "both", "not", "bits").Result())
	field := []any{"OVERFLOW", "SAT", "INCRBY", "u8", 0, 250, "INCRBY", "u8", 0, 10, "GET", "u4", 0}
	is("bitfield", []int64{250, 255, 15})(r.BitField(ctx, "field", field...).Result())
}

func isHashesAndLists(r *redis.Client) {
	is("hset", int64(2))(r.HSet(ctx, "h", "a", 1, "b", "two").Result())
	is("hget", "two")(r.HGet(ctx, "h", "b").Result())
	is("hgetall", map[string]string{"a": "1", "b": "two"})(r.HGetAll(ctx, "h").Result())
	is("hmget", []any{"1", nil})(r.HMGet(ctx, "h", "a", "none").Result())
	is("hexists", false)(r.HExists(ctx, "h", "none").Result())
	is("hsetnx", false)(r.HSetNX(ctx, "h", "a", 5).Result())
	is("hincrby", int64(5))(r.HIncrBy(ctx, "h", "a", 4).Result())
	is("hincrbyfloat", 5.25)(r.HIncrByFloat(ctx, "h", "a", 0.25).Result())
	is("hkeys", []string{"a", "b"})(r.HKeys(ctx, "h").Result())
	is("hvals", []string{"5.25", "two"})(r.HVals(ctx, "h").Result())
	is("hlen", int64(2))(r.HLen(ctx, "h").Result())
	is("hstrlen", int64(3))(r.HStrLen(ctx, "h", "b").Result())
	same("hrandfield", "a b")(r.HRandField(ctx, "h", 9).Result())
	pairs, err := r.HRandFieldWithValues(ctx, "h", 9).Result()
	is("hrandfield with values", 2)(len(pairs), err)
	is("hdel", int64(1))(r.HDel(ctx, "h", "a", "none").Result())
	is("rpush", int64(5))(r.RPush(ctx, "l", "a", "b", "c", "d", "e").Result())
	is("lpush", int64(6))(r.LPush(ctx, "l", "z").Result())
	is("lrange", strings.Fields("z a b c d e"))(r.LRange(ctx, "l", 0, -1).Result())
	is("lindex", "e")(r.LIndex(ctx, "l", -1).Result())
	is("lset", "OK")(r.LSet(ctx, "l", 0, "y").Result())
	is("linsert", int64(7))(r.LInsertBefore(ctx, "l", "c", "x").Result())
	is("lpos", int64(3))(r.LPos(ctx, "l", "x", redis.LPosArgs{}).Result())
	is("lpos with count", []int64{3})(r.LPosCount(ctx, "l", "x", 0, redis.LPosArgs{}).Result())
	is("lrem", int64(1))(r.LRem(ctx, "l", 1, "x").Result())
	is("lpop with count", []string{"y", "a"})(r.LPopCount(ctx, "l", 2).Result())
	is("rpop", "e")(r.RPop(ctx, "l").Result())
	is("ltrim", "OK")(r.LTrim(ctx, "l", 1, -1).Result())
	is("llen", int64(2))(r.LLen(ctx, "l").Result())
	is("lmove", "c")(r.LMove(ctx, "l", "m", "LEFT", "RIGHT").Result())
	is("rpoplpush", "d")(r.RPopLPush(ctx, "l", "m").Result())
	is("lpushx of no key", int64(0))(r.LPushX(ctx, "none", "a").Result())
	key, values, err := r.LMPop(ctx, "LEFT", 5, "none", "m").Result()
	is("lmpop", "m d c")(key+" "+strings.Join(values, " "), err)
	truth("lpop of no key", errors.Is(r.LPop(ctx, "m").Err(), redis.Nil))
}

func isSets(r *redis.Client) {
	is("sadd", int64(3))(r.SAdd(ctx, "s1", "a", "b", "c").Result())
	is("sadd", int64(3))(r.SAdd(ctx, "s2", "b", "c", "d").Result())
	same("smembers", "a b c")(r.SMembers(ctx, "s1").Result())
	is("sismember", false)(r.SIsMember(ctx, "s1", "d").Result())
	is("smismember", []bool{true, false})(r.SMIsMember(ctx, "s1", "a", "d").Result())
	same("sinter", "b c")(r.SInter(ctx, "s1", "s2").Result())
	same("sunion", "a b c d")(r.SUnion(ctx, "s1", "s2").Result())
	same("sdiff", "a")(r.SDiff(ctx, "s1", "s2").Result())
	is("sintercard", int64(1))(r.SInterCard(ctx, 1, "s1", "s2").Result())
	is("sunionstore", int64(4))(r.SUnionStore(ctx, "s3", "s1", "s2").Result())
	is("smove", true)(r.SMove(ctx, "s1", "s2", "a").Result())
	same("srandmember", "b c")(r.SRandMemberN(ctx, "s1", 9).Result())
	same("spop", "b c")(r.SPopN(ctx, "s1", 9).Result())
	is("srem", int64(1))(r.SRem(ctx, "s3", "a", "none").Result())
	is("scard", int64(3))(r.SCard(ctx, "s3").Result())
	z := func(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }
	is("zadd", int64(3))(r.ZAdd(ctx, "z", z(1, "a"), z(2, "b"), z(3.5, "c")).Result())
	is("zadd gt ch", int64(1))(r.ZAddArgs(ctx, "z", redis.ZAddArgs{GT: true, Ch: true, Members: []redis.Z{z(5, "b")}}).Result())
	is("zadd incr", 6.0)(r.ZAddArgsIncr(ctx, "z", redis.ZAddArgs{Members: []redis.Z{z(1, "b")}}).Result())
	is("zscore", 3.5)(r.ZScore(ctx, "z", "c").Result())
	truth("zscore of no member", errors.Is(r.ZScore(ctx, "z", "none").Err(), redis.Nil))
	is("zmscore", []float64{1, 0})(r.ZMScore(ctx, "z", "a", "none").Result())
	is("zrange with scores", []redis.Z{z(1, "a"), z(3.5, "c"), z(6, "b")})(r.ZRangeWithScores(ctx, "z", 0, -1).Result())
	is("zrevrange", []string{"b"})(r.ZRevRange(ctx, "z", 0, 0).Result())
	is("zrangebyscore", []string{"a", "c"})(r.ZRangeByScore(ctx, "z", &redis.ZRangeBy{Min: "1", Max: "4"}).Result())
	byScore := redis.ZRangeArgs{Key: "z", Start: "+inf", Stop: "(1", ByScore: true, Rev: true, Offset: 1, Count: 1}
	is("zrange by score", []string{"c"})(r.ZRangeArgs(ctx, byScore).Result())
	is("zrank", int64(2))(r.ZRank(ctx, "z", "b").Result())
	truth("zrevrank of no member", errors.Is(r.ZRevRank(ctx, "z", "none").Err(), redis.Nil))
	is("zcount", int64(2))(r.ZCount(ctx, "z", "2", "+inf").Result())
	is("zincrby", 3.0)(r.ZIncrBy(ctx, "z", 2, "a").Result())
	r.ZAdd(ctx, "w", z(10, "a"), z(20, "d"))
	both := redis.ZStore{Keys: []string{"z", "w"}, Aggregate: "MAX", Weights: []float64{1, 2}}
	is("zunion", strings.Fields("c b a d"))(r.ZUnion(ctx, both).Result())
	is("zinter", []redis.Z{z(20, "a")})(r.ZInterWithScores(ctx, &both).Result())
	is("zinterstore", int64(1))(r.ZInterStore(ctx, "zi", &both).Result())
	is("zdiff", []string{"c", "b"})(r.ZDiff(ctx, "z", "w").Result())
	is("zpopmin", []redis.Z{z(3, "a")})(r.ZPopMin(ctx, "z").Result())
	key, popped, err := r.ZMPop(ctx, "max", 1, "none", "z").Result()
	is("zmpop", []redis.Z{z(6, "b")})(popped, err)
	truth("key of zmpop", key == "z")
	r.ZAdd(ctx, "lex", z(0, "a"), z(0, "b"), z(0, "c"), z(0, "d"))
	is("zrangebylex", []string{"b", "c"})(r.ZRangeByLex(ctx, "lex", &redis.ZRangeBy{Min: "[b", Max: "(d"}).Result())
	is("zlexcount", int64(4))(r.ZLexCount(ctx, "lex", "-", "+").Result())
	is("zremrangebylex", int64(1))(r.ZRemRangeByLex(ctx, "lex", "[d", "+").Result())
	is("zremrangebyrank", int64(1))(r.ZRemRangeByRank(ctx, "lex", 0, 0).Result())
	is("zrem", int64(1))(r.ZRem(ctx, "lex", "b", "none").Result())
	is("zcard", int64(1))(r.ZCard(ctx, "lex").Result())
}

func main() {
	for _, protocol := range []int{2, 3} {
		r := redis.NewClient(options(protocol))
		r.FlushAll(ctx)
		for _, group := range []func(*redis.Client){
			isStrings, isHashesAndLists, isSets, isKeys, isGeo, isIterators,
			isPipelines, isTransactions, isWaits, isChannels, isServer, isPool,
		} {
			group(r)
		}
		if protocol == 3 {
			isThird(r)
		}
		is("flushall", "OK")(r.FlushAll(ctx).Result())
		is("dbsize", int64(0))(r.DBSize(ctx).Result())
		r.Close()
	}
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/redis/go-redis/v9" {
				version = strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	fmt.Printf("go-redis %s: %d passed, %d failed\n", version, passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// all waits for the end of several goroutines.
func all(number int, work func(int)) {
	var group sync.WaitGroup
	for i := range number {
		group.Add(1)
		go func() {
			defer group.Done()
			work(i)
		}()
	}
	group.Wait()
}
