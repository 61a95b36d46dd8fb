import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

/** Sections of the base configuration and their members, as clients know them. */
const known = `
  appearance: background_color brand_color favicon login_background logo logo_external_url tag_colors tag_icons welcome_splash
  colorprofiles: profiles
  custom_data_type_updater: active
  custom_version_presets: value
  deep_link_access: allow_access_by_column allow_access_by_id enabled iiif_default_links iiif_links iiif_required_statement include_parents merge_linked_objects merge_max_depth
  detail_deep_link: use_system_object_id
  email: admin_emails from signature
  email_server: cram_md5_auth helo_domain insecure_skip_verify login_auth plain_auth server_addr type
  export: xslts
  export_scheduler: active
  file_url_expire: deep_link_days default_days max_days oai_pmh_days
  indexer: default_analyzer
  janitor: active event_remote_addr_expire_days events file_expire_days object_and_file_removal users
  languages: database frontend
  ldap: bindpassword bindusername connections debug groupbasedn groupfilter groupmapping userbasedn userfilter usermapping userupdatecolumn
  license: license
  loca: google_csv google_overload_csv
  location_defaults: backups originals versions
  logging: level timings
  login: guest info keep_login label placeholder
  name: description internal_name title
  notification_scheduler: active
  oai_pmh: admin_email enabled include_parents merge_linked_objects merge_max_depth namespace_identifier records_limit repository_name tagfilter_deleted tagfilter_sets
  oauth2: clients expirations
  objectstore: instance server uid
  openapi_spec_endpoint: active
  openid: userinfo
  password: blockclient check hint showforgot
  produce_config: value
  publish: collectors
  purge: allow_purge purge_storage
  readonly: enabled
  register: enable form groups info
  saml: cert debug entry_js groupmapping idp_entity_id key ldap loginlink loginlink_internal loginpreferred loginredirect signrequest sp_entity_id url usermapping userupdatecolumn
  transition_webhook: webhooks
  two_factor: allow_password_grant enabled methods
  user: copy_to_event default_delete_policy user_in_event_group
  webdav: hotfolder hotfolder_wait_sec read_write_access`

/** Sections that are not answered, each with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  license: 'decision 82: it has no meaning here, and is taken where it is empty',
  loca: 'as license',
  objectstore: 'as license',
  register: 'it is answered as `registration`; test/clients/base-config.test.ts sends it',
}

test('the base configuration has all sections and members that clients know', async () => {
  await using svc = await startService()
  const { config } = (await svc.as('root').get('/config')).body.system
  const missing = known
    .trim()
    .split(/\n\s*/)
    .flatMap((line) => {
      const [section = '', members = ''] = line.split(': ')
      if (section in elsewhere) return section in config ? [`${section} is answered`] : []
      const { [section]: shown } = config
      return shown
        ? members
            .split(' ')
            .filter((name) => !(name in shown))
            .map((name) => `${section}.${name}`)
        : [section]
    })
  assert.deepEqual(missing, [])
})
