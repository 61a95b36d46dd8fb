import { LRUCache } from 'lru-cache'
import { DirectoryUnavailable } from './model.ts'

/** Maximum number of providers whose answer is kept; an instance has a few. */
const most = 50

/**
 * Metadata of providers, kept for `ttl` milliseconds. Sign-ins at the same time wait for the same answer; after a failure the
 * provider is asked again. `ask` throws any error.
 */
export function knownProviders<Provider, Known extends object>(options: {
  readonly ttl: number
  /** The configuration on which the answer depends. */
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

/** Messages of the clients name the problem; their causes have the details. Neither has tokens. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? `${error.message} (${cause.message})` : error.message
}
