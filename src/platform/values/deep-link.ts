/** Addresses that lead to objects and their files without a search; they are implemented in `deep-links`. */

export const deepLinkPath = '/api/v1/objects'

export function deepLink(externalUrl: string, uuid: string): string {
  return `${externalUrl}${deepLinkPath}/uuid/${encodeURIComponent(uuid)}`
}

/** The address of a version of a file of an object. */
export function fileDeepLink(externalUrl: string, uuid: string, file: number, version: string): string {
  return `${deepLink(externalUrl, uuid)}/file/id/${file}/file_version/name/${encodeURIComponent(version)}`
}

/** The settings of the base configuration for links to pages of objects. */
interface PageSettings {
  readonly deep_link_access: { readonly enabled: boolean; readonly allow_access_by_id: boolean }
  readonly detail_deep_link: { readonly use_system_object_id: boolean }
}

/** The page of an object for people; null: deep links are off. By number only where that is allowed. */
export function pageLink(
  externalUrl: string,
  { deep_link_access: access, detail_deep_link: detail }: PageSettings,
  { systemObjectId, uuid }: { readonly systemObjectId: number; readonly uuid: string },
): string | null {
  if (!access.enabled) return null
  const byNumber = detail.use_system_object_id && access.allow_access_by_id
  return `${byNumber ? `${externalUrl}${deepLinkPath}/id/${systemObjectId}` : deepLink(externalUrl, uuid)}/format/html`
}
