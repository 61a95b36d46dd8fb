import pg from 'pg'

/** Milliseconds by which messages are late. */
const delay = 1000

/**
 * Delays messages (NOTIFY) by a second, as a slow network does: those of the bus on connections that are opened while `start` runs, so
 * that this process hears late of all changes; and those about jobs on all other connections, so that this process takes the jobs.
 */
export async function hearingLate<T>(start: () => Promise<T>): Promise<{ readonly result: T } & Disposable> {
  const { emit } = pg.Client.prototype
  const late = new WeakSet<object>()
  let starting = true
  pg.Client.prototype.emit = function (this: pg.Client, event: string | symbol, ...given: unknown[]): boolean {
    if (event === 'connect' && starting) late.add(this)
    const go = (): boolean => Reflect.apply(emit, this, [event, ...given])
    if (event !== 'notification') return go()
    const isBus = (given[0] as { readonly channel?: string }).channel === 'strongroom'
    if (late.has(this) !== isBus) return go()
    setTimeout(go, delay)
    return true
  }
  const result = await start().finally(() => {
    starting = false
  })
  return {
    result,
    [Symbol.dispose]() {
      pg.Client.prototype.emit = emit
    },
  }
}
