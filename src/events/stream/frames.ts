import type { Actor } from '../../platform/actor.ts'
import { renderEvent } from '../render.ts'
import type { StoredEvent } from '../store.ts'
import { type EventVisibility, forPoller, forReader, readsLog, type Seen, visibilityOf } from '../visibility.ts'

export interface Frames {
  /** The events after an id, as far as the caller may know them. */
  for(actor: Actor, after: number): Promise<readonly Frame[]>
}

export interface Frame {
  readonly id: number
  readonly frame: Buffer
}

/** The events as frames: serialised once for each distinct view, and filtered once for callers with the same rights. */
export function createFrames(seen: Seen, events: readonly StoredEvent[], databaseName: string): Frames {
  const visibilities = visibilityOf(seen, events)
  const written = new Map<string, Buffer>()
  const byCaller = new Map<string, Promise<readonly Frame[]>>()

  function frameOf(event: StoredEvent, reader: boolean, visibility: EventVisibility): Buffer | null {
    const key = `${event.id} ${reader} ${visibility}`
    const known = written.get(key)
    if (known) return known
    const told = reader ? forReader(event, visibility) : forPoller(event, visibility)
    if (!told) return null
    const frame = Buffer.from(JSON.stringify(renderEvent(told, databaseName)))
    written.set(key, frame)
    return frame
  }

  async function shownTo(actor: Actor): Promise<readonly Frame[]> {
    const visibility = await visibilities(actor)
    const reader = readsLog(actor)
    return events.flatMap((event) => {
      const frame = frameOf(event, reader, visibility(event))
      return frame ? { id: event.id, frame } : []
    })
  }

  return {
    async for(actor, after) {
      if (events.length === 0) return []
      // In another network a user may have other groups.
      const key = `${actor.userId} ${actor.isRoot} ${readsLog(actor)} ${actor.groupIds.join()}`
      const shown = byCaller.get(key) ?? shownTo(actor)
      byCaller.set(key, shown)
      return (await shown).filter(({ id }) => id > after)
    },
  }
}
