/** Requests that wait until their saved objects are indexed. */
import type { Queryable } from '../../platform/postgres/db.ts'
import type { QueueEntry } from './store.ts'

/** Milliseconds between checks of the queue, because the indexer may be another process. */
const lookPause = 150

interface Waiter {
  /** Objects that must still be indexed, with the queue number of the awaited save. */
  readonly open: Map<number, number>
  readonly finish: (done: boolean) => void
}

/** Waits of requests. `onWait` is called whenever a request begins to wait. */
export function createWaiters(db: Queryable, onWait: () => void) {
  const waiting = new Set<Waiter>()

  async function look(waiter: Waiter): Promise<void> {
    const { rows } = await db.query<{ id: number }>(
      `select w.id from unnest($1::bigint[], $2::bigint[]) as w(id, seq)
       join index_queue q on q.system_object_id = w.id and q.seq <= w.seq and q.priority = 0`,
      [[...waiter.open.keys()], [...waiter.open.values()]],
      'search-waiting',
    )
    const still = new Set(rows.map((row) => row.id))
    for (const id of waiter.open.keys()) if (!still.has(id)) waiter.open.delete(id)
    if (waiter.open.size === 0) waiter.finish(true)
  }

  return {
    /** True as soon as the current state of these objects is indexed, false after this number of seconds. */
    async wait(ids: readonly number[], seconds: number): Promise<boolean> {
      const { rows } = await db.query<Pick<QueueEntry, 'id' | 'seq'>>(
        `select system_object_id as id, max(seq) as seq from index_queue
         where system_object_id = any($1::bigint[]) and priority = 0 group by system_object_id`,
        [ids],
        'search-wait',
      )
      if (rows.length === 0) return true
      return new Promise((resolve) => {
        const finish = (done: boolean): void => {
          clearTimeout(deadline)
          clearInterval(looks)
          waiting.delete(waiter)
          resolve(done)
        }
        const waiter: Waiter = { open: new Map(rows.map(({ id, seq }) => [id, seq])), finish }
        const deadline = setTimeout(() => finish(false), Math.min(seconds * 1000, 2 ** 31 - 1))
        const looks = setInterval(() => void look(waiter).catch(() => {}), lookPause)
        waiting.add(waiter)
        onWait()
      })
    },

    /** Whether any request waits. */
    any: (): boolean => waiting.size > 0,

    /** Called when a batch of this process is committed. */
    indexed(entries: readonly QueueEntry[]): void {
      if (waiting.size === 0) return
      const saves = entries.filter((entry) => entry.priority === 0)
      const done = new Map(saves.map((entry) => [entry.id, entry.seq]))
      for (const waiter of waiting) {
        for (const [id, seq] of waiter.open) if ((done.get(id) ?? -1) >= seq) waiter.open.delete(id)
        if (waiter.open.size === 0) waiter.finish(true)
      }
    },

    close(): void {
      for (const waiter of waiting) waiter.finish(false)
    },
  }
}
