import type { Plugin } from './model.ts'
import type { ManagedPlugin, PluginBase, PluginList } from './schema.ts'
import type { PluginTimes } from './store.ts'

const base = '/api/v1/plugin'

/** The members of a plugin for front ends. */
export function renderPlugin({ name, manifest, buildInfo }: Plugin, externalUrl: string): PluginBase {
  const { version, displayname, info, l10n, server, url, webfrontend, custom, collectionUpload, staticFolder } =
    manifest
  return {
    name,
    version,
    displayname,
    info,
    ...(l10n === null ? {} : { l10n }),
    ...(server ? { server } : {}),
    ...(url === null ? {} : { url }),
    webfrontend,
    ...(custom ? { custom } : {}),
    ...(staticFolder === null ? {} : { base_url: `${externalUrl}${base}/static/${name}` }),
    plugin_url: `${externalUrl}${base}/extension/${name}`,
    ...(Object.keys(buildInfo).length > 0 ? { build_info: buildInfo as Record<string, string> } : {}),
    ...(Object.keys(collectionUpload).length > 0 ? { collection_upload: collectionUpload } : {}),
  }
}

export function renderList(plugins: readonly Plugin[], externalUrl: string): PluginList {
  const bundle = `${externalUrl}${base}/bundle`
  return {
    bundle: { javascript: `${bundle}.js`, css: `${bundle}.css`, html: `${bundle}.html`, l10n: `${bundle}/l10n` },
    plugins: plugins.map((plugin) => renderPlugin(plugin, externalUrl)),
  }
}

export function renderManaged(plugin: Plugin, times: PluginTimes, externalUrl: string): ManagedPlugin {
  const { id, name, enabled, type, path, url, zipFile, updatePolicy, manifest } = plugin
  return {
    id,
    name,
    enabled,
    auto_added: type === 'disk',
    path,
    url,
    type,
    zip_file: zipFile === null ? null : { _id: zipFile },
    update_policy: updatePolicy,
    manifest: renderPlugin(plugin, externalUrl),
    unsupported: [...manifest.unsupported],
    last_checked_at: times.checkedAt?.toISOString() ?? null,
    last_failure: times.failure,
    created_at: times.createdAt.toISOString(),
    updated_at: times.updatedAt.toISOString(),
  }
}
