import { ServiceError } from '../../client.ts'

export interface SaveEachOptions<T> {
  /** Stores all of them or none. */
  send(items: readonly T[]): Promise<void>
  /** Called when the service does not accept this item. */
  refuse(item: T, error: ServiceError): void
}

/**
 * Maximum number of items that are removed from a batch one by one; a batch with more refusals is divided, so that smaller requests
 * follow.
 */
const fewRefusals = 3

/**
 * Stores as many items of a batch as the service accepts. It accepts a batch as a whole or not at all: an item that an error names
 * is left out; if the error names none, the batch is halved. At most twice as many requests as there are items.
 */
export async function saveEach<T>(items: readonly T[], { send, refuse }: SaveEachOptions<T>): Promise<void> {
  const waiting: (readonly T[])[] = [items]
  let refusals = 0
  for (let group = waiting.pop(); group !== undefined; group = waiting.pop()) {
    if (group.length === 0) continue
    const error = await refusalOf(send(group))
    if (!error) continue
    const at = group.length === 1 ? 0 : itemOf(error, group.length)
    const item = at === null ? undefined : group[at]
    if (at === null || item === undefined) {
      const half = Math.ceil(group.length / 2)
      waiting.push(group.slice(half), group.slice(0, half))
      continue
    }
    refuse(item, error)
    refusals++
    if (refusals <= fewRefusals) waiting.push([...group.slice(0, at), ...group.slice(at + 1)])
    else waiting.push(group.slice(at + 1), group.slice(0, at))
  }
}

async function refusalOf(sent: Promise<void>): Promise<ServiceError | null> {
  try {
    await sent
    return null
  } catch (error) {
    if (error instanceof ServiceError && isAboutContent(error)) return error
    throw error
  }
}

/** Whether other objects may be accepted: not when the service is down, read-only, or does not know the caller. */
function isAboutContent({ status, code }: ServiceError): boolean {
  if (status === 202) return true
  return status >= 400 && status < 500 && ![401, 408, 423, 429].includes(status) && code !== 'ReadOnlyMode'
}

/** The place in the request that the error names: `3.work.title`, `0 (_id 13)`. */
function itemOf({ parameters }: ServiceError, length: number): number | null {
  const place = typeof parameters.name === 'string' ? /^(\d+)(?=[.\s]|$)/.exec(parameters.name)?.[1] : undefined
  const index = Number(place)
  return place !== undefined && index < length ? index : null
}
