import { setTimeout as sleep } from 'node:timers/promises'
import { currentDeadline } from '../../../platform/limits/deadline.ts'
import type { StoredFile } from '../../model.ts'
import type { RenditionListeners } from './rendition-listeners.ts'

/** Milliseconds that a request waits for a version at most. */
const longest = 30_000
/** Milliseconds between two checks for versions that other processes have made. */
const lookEvery = 1000

/** Whether a version of the file is still to be made. */
function isComing({ renditions }: StoredFile, name: string): boolean {
  return renditions.some((one) => one.name === name && (one.status === 'pending' || one.status === 'processing'))
}

/**
 * Waits until a version of each of the files is made, or will not be made, or the client has closed the connection: a
 * client that uploads a file and shows a version asks once, not again and again. Answers the files as they are by then;
 * deleted files as they were.
 */
export async function awaitVersion(
  {
    listeners,
    read,
  }: {
    readonly listeners: RenditionListeners
    readonly read: (ids: readonly number[]) => Promise<readonly StoredFile[]>
  },
  files: readonly StoredFile[],
  name: string,
): Promise<readonly StoredFile[]> {
  const known = new Map(files.map((file) => [file.id, file]))
  const coming = new Set(files.filter((file) => isComing(file, name)).map(({ id }) => id))
  if (coming.size === 0) return files
  const told = new Set<number>()
  let wake = (): void => {}
  const leave = [...coming].map((id) =>
    listeners.listen(id, () => {
      told.add(id)
      wake()
    }),
  )
  const deadline = currentDeadline()
  const forget = deadline.onOver(() => wake())
  const end = performance.now() + longest
  try {
    while (coming.size > 0 && !deadline.over && performance.now() < end) {
      if (told.size === 0) await pause((woken) => (wake = woken))
      // Files without news are checked now and then: another process may make their versions.
      const asked = told.size > 0 ? [...told].filter((id) => coming.has(id)) : [...coming]
      told.clear()
      const found = new Map((await read(asked)).map((file) => [file.id, file]))
      for (const id of asked) {
        const file = found.get(id)
        if (file) known.set(id, file)
        if (!file || !isComing(file, name)) coming.delete(id)
      }
    }
  } finally {
    forget()
    for (const each of leave) each()
  }
  return files.map((file) => known.get(file.id) ?? file)
}

/** Waits for a notification, or until it is time to check without one. */
async function pause(whenWoken: (wake: () => void) => void): Promise<void> {
  const woken = new AbortController()
  whenWoken(() => woken.abort())
  await sleep(lookEvery, undefined, { signal: woken.signal }).catch(() => {})
}
