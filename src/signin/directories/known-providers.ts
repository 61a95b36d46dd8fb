import { LRUCache } from 'lru-cache'
import { DirectoryUnavailable } from './model.ts'

/** Providers whose word is kept; an instance has a few. */
const most = 50

/**
 * What providers say of themselves, kept for `ttl` milliseconds. Sign-ins that come meanwhile wait for the same answer; one
 * that failed is asked for again. `ask` throws whatever is wrong.
 * @throws {DirectoryUnavailable}
 */
export function knownProviders<Provider, Known extends object>(options: {
  readonly ttl: number
  /** What the answer depends on. */
  readonly keyOf: (provider: Provider) => readonly string[]
  readonly ask: (provider: Provider) => Promise<Known>
}) {
  const known = new LRUCache<string, Promise<Known>>({ max: most, ttl: options.ttl })

  return async (provider: Provider): Promise<Known> => {
    const key = JSON.stringify(options.keyOf(provider))
    const before = known.get(key)
    const asked = before ?? options.ask(provider)
    if (!before) known.set(key, asked)
    try {
      return await asked
    } catch (error) {
      if (known.peek(key) === asked) known.delete(key)
      throw new DirectoryUnavailable(`The provider cannot be asked: ${reasonOf(error)}`)
    }
  }
}

/** Messages of the clients name what is wrong; causes have the rest. Neither has tokens. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? `${error.message} (${cause.message})` : error.message
}
