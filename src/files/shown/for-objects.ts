import type { Actor } from '../../platform/actor.ts'
import { createByteCache, stringBytes } from '../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { type CallerRights, type Principal, renderWho, type WhoNames } from '../../rights/service.ts'
import type { Addresses } from '../addresses/addresses.ts'
import type { FileVersion, StoredFile } from '../model.ts'
import type { FileWithAccess } from '../records/access.ts'
import { accessKey, type FileInObject, type FileLink, renderFile } from './render.ts'

/** Bytes of the longest text that is cached. */
const longest = 100_000

/** A file as JSON without the closing bracket, with the values it was made from that are not in the key. */
interface Text {
  readonly file: StoredFile
  readonly until: number
  readonly uploader: string
  readonly text: string
}

interface ShownDeps {
  readonly load: (from: Queryable, caller: CallerRights, ids: readonly number[]) => Promise<FileWithAccess[]>
  readonly addresses: Addresses
  readonly whoNames: (from: Queryable, who: Iterable<Principal>, languages: readonly string[]) => Promise<WhoNames>
  /** Bytes of all texts in memory. */
  readonly maxBytes: number
  /** Seconds for which addresses are valid. */
  readonly secondsOf: (days: number | undefined) => number
  /** Whether the answer has deep links of files. */
  readonly hasDeepLinks: () => boolean
}

/**
 * Files as parts of objects: as JSON, in pieces. The text of a file is the same in all objects, and for an hour for all
 * callers with the same rights on it. To render it each time was most of the work for a page with files
 * (bench/file-delivery.ts). Only the members of its place are written each time.
 */
export function createShown({ load, addresses, whoNames, maxBytes, secondsOf, hasDeepLinks }: ShownDeps) {
  const kept = createByteCache<string, Text>({
    name: 'file_texts',
    maxBytes,
    maxEntryBytes: longest,
    sizeOf: ({ text, uploader }) => stringBytes(text) + stringBytes(uploader),
  })

  return async (
    from: Queryable,
    actor: Actor,
    caller: CallerRights,
    places: readonly FileInObject[],
    { days, format }: { readonly days: number | undefined; readonly format: 'standard' | 'long' },
  ): Promise<readonly (readonly string[])[]> => {
    const found = await load(from, caller, [...new Set(places.map(({ link }) => link._id))])
    const seen = new Map(found.filter(({ access }) => access.any).map((known) => [known.file.id, known]))
    const users = new Set([...seen.values()].map(({ file }) => file.uploadUser))
    const who = [...users].map((id): Principal => `u${id}`)
    const names = await whoNames(from, who, actor.languages)
    const wires = new Map([...users].map((id) => [id, renderWho(`u${id}`, names)]))
    const uploaders = new Map([...wires].map(([id, wire]) => [id, JSON.stringify(wire)]))
    const until = addresses.until(secondsOf(days))
    const linked = hasDeepLinks()

    function textOf({ file, access }: FileWithAccess, { object, uuid }: FileInObject): string {
      const key = `${file.id} ${format} ${accessKey(file, access)} ${object ?? ''} ${linked ? uuid : ''}`
      const known = kept.get(key)
      const uploader = uploaders.get(file.uploadUser) ?? ''
      if (known?.file === file && known.until === until && known.uploader === uploader) return known.text
      const addressesOf = (version: FileVersion) => addresses.of(file, version, until, object)
      const deepLinkOf = linked ? (version: FileVersion) => addresses.deepLink(file, version, uuid) : null
      const view = { format, access, addressesOf, deepLinkOf, uploader: wires.get(file.uploadUser), tags: undefined }
      const text = JSON.stringify(renderFile(file, view)).slice(0, -1)
      kept.set(key, { file, until, uploader, text })
      return text
    }

    return places.map((place) => {
      const known = seen.get(place.link._id)
      return known ? [textOf(known, place), placeText(place.link)] : [JSON.stringify(place.link)]
    })
  }
}

/** The members of the file's place in an object, behind those of the file itself. */
function placeText({ _id, ...place }: FileLink): string {
  const text = JSON.stringify(place)
  return text === '{}' ? text.slice(1) : `,${text.slice(1)}`
}
