import { isAbsolute, normalize, relative, resolve } from 'node:path'
import { type AppError, badRequest } from '../../platform/errors.ts'
import { masked } from '../../platform/secrets/secrets.ts'
import type { Location, LocationDraft, LocationStorage } from './model.ts'
import type { LocationInput } from './schema.ts'

/** The folders in which locations may be. */
export interface FolderRules {
  readonly dataDir: string
  /** Allowed absolute folders outside of it. */
  readonly folders: readonly string[]
}

/** A location as sent, over the stored one when there is one. @throws {AppError} naming the wrong member. */
export function readLocation(input: LocationInput, stored: Location | null, rules: FolderRules): LocationDraft {
  if (input.allow_redirect) {
    throw badRequest('allow_redirect: the service itself delivers all files', { name: 'allow_redirect' })
  }
  const other = Object.keys(input.config).find((kind) => kind !== input.kind)
  if (other !== undefined) {
    throw badRequest(`config.${other} does not belong to a location of the kind ${input.kind}`, {
      name: `config.${other}`,
    })
  }
  return {
    name: input.name,
    prefix: input.prefix ?? stored?.prefix ?? '',
    allowPurge: input.allow_purge ?? stored?.allowPurge ?? false,
    readOnly: input.read_only ?? stored?.readOnly ?? false,
    ...placeOf(input, stored, rules),
  }
}

function placeOf({ kind, config }: LocationInput, stored: Location | null, rules: FolderRules): LocationStorage {
  if (kind === 'file') {
    if (!config.file) throw missing('config.file')
    folderOf(config.file.dir, rules)
    return { kind, config: { dir: config.file.dir } }
  }
  const sent = config.s3
  if (!sent) throw missing('config.s3')
  const before = stored?.kind === 's3' ? stored.config : null
  if (/[@?#]/.test(sent.endpoint ?? '')) {
    throw badRequest('config.s3.endpoint must be a host and a port, or an address of them without anything else', {
      name: 'config.s3.endpoint',
    })
  }
  const keeps = sent.secretkey === undefined || sent.secretkey === masked
  if (sent.secretkey === masked && !before) {
    throw badRequest('config.s3.secretkey must be the secret itself: none is stored that could be kept', {
      name: 'config.s3.secretkey',
    })
  }
  const s3 = {
    bucket: sent.bucket,
    endpoint: sent.endpoint ?? '',
    accesskey: sent.accesskey ?? '',
    secretkey: keeps ? (before?.secretkey ?? '') : (sent.secretkey ?? ''),
    region: sent.region ?? '',
    ssl: sent.ssl ?? true,
  }
  const moved = before && (before.endpoint !== s3.endpoint || before.ssl !== s3.ssl)
  // Otherwise requests signed with the stored key would go to the new server.
  if (keeps && moved && before.secretkey !== '') {
    throw badRequest('config.s3.secretkey must be the secret itself: what is stored was given for another address', {
      name: 'config.s3.secretkey',
    })
  }
  return { kind, config: s3 }
}

/**
 * The folder named by `dir`. A caller with the right to use the interface as root does not therefore own the machine:
 * only folders that its configuration names can be reached. @throws {AppError}
 */
export function folderOf(dir: string, { dataDir, folders }: FolderRules): string {
  const within = (folder: string, path: string): boolean => {
    const way = relative(folder, path)
    return way === '' || (!way.startsWith('..') && !isAbsolute(way))
  }
  const path = isAbsolute(dir) ? normalize(dir) : resolve(dataDir, dir)
  // The data folder also has other data: the embedded PostgreSQL.
  const allowed = isAbsolute(dir)
    ? folders.some((folder) => within(resolve(folder), path))
    : within(resolve(dataDir, 'files'), path)
  if (allowed && !dir.includes('\0')) return path
  throw badRequest('config.file.dir must be files or a folder in it, or an absolute path in one of svc.files.folders', {
    name: 'config.file.dir',
  })
}

/** The address of a location; two locations with the same address would store the same contents. */
export function addressOf(place: LocationStorage & { prefix: string }, rules: FolderRules): string {
  if (place.kind === 'file') return `file ${resolve(folderOf(place.config.dir, rules), place.prefix)}`
  const { endpoint, bucket } = place.config
  return `s3 ${endpoint.replace(/^https?:\/\//, '')} ${bucket} ${place.prefix}`
}

function missing(name: string): AppError {
  return badRequest(`${name} must be there`, { name })
}
