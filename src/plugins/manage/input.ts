import { badRequest } from '../../platform/errors.ts'
import type { Plugin } from '../model.ts'
import type { PluginInput } from '../schema.ts'
import { checkedUrl } from './fetch.ts'

/** Checks the members that cannot be changed while a plugin is installed. @throws {AppError} naming the member. */
export function assertReadOnlyFields(plugin: Plugin, { id, type, url, zip_file, update_policy }: PluginInput): void {
  if (id !== undefined && id !== plugin.id)
    throw badRequest(`id must be ${plugin.id}, as in the address`, { name: 'id' })
  if (type != null && type !== plugin.type) throw badRequest(`type stays ${plugin.type}`, { name: 'type' })
  if (plugin.type !== 'zip' && zip_file != null)
    throw badRequest(`a plugin of the type ${plugin.type} has no zip_file`, { name: 'zip_file' })
  if (plugin.type === 'url') return
  if (url != null && url !== plugin.url)
    throw badRequest(`a plugin of the type ${plugin.type} has no url`, { name: 'url' })
  if (update_policy != null && update_policy !== plugin.updatePolicy) {
    throw badRequest('Only plugins from an address are updated from there.', { name: 'update_policy' })
  }
}

/** The source of a new plugin. @throws {AppError} when there is none, or more than one. */
export function sourceOf({ type, zip_file, url }: PluginInput) {
  if (type === 'zip' && zip_file && url == null) return { kind: 'zip', fileId: zip_file._id } as const
  if (type === 'url' && url != null && zip_file == null) return { kind: 'url', url: checkedUrl(url) } as const
  throw badRequest('A plugin comes with type zip and a zip_file, or with type url and a url.', { name: 'type' })
}
