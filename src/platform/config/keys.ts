import { divideMemory, type Memory, standardMemory } from '../memory/shares.ts'
import type { Config } from './config.ts'
import { fewestConnections } from './connections.ts'
import {
  boolean,
  clients,
  dsn,
  type Form,
  folders,
  integer,
  list,
  memory,
  nullable,
  oneOf,
  origins,
  pageOrigins,
  proxies,
  secret,
  text,
  url,
} from './forms.ts'
import { jobLanes, type Lane, type LaneSettings, laneSetting } from './job-lanes.ts'

/** One setting: where it stands, what it may be, what it is for. */
export interface Key<T> {
  /** Place in the file. */
  path: string
  /** Name in the environment. */
  env: string
  default: T
  /** What the documentation says of the value's form. */
  form: string
  doc: string
  /** The checked value. @throws {ConfigError} that starts with `name`. */
  check(name: string, value: unknown): T
  /** The value that a variable's text stands for; `check` follows. */
  fromText(name: string, text: string): unknown
  /** The value as `strongroom config` shows it. */
  show(value: T): unknown
  /** Bytes that are held in memory, and so at most a share of it. */
  readonly bound?: MemoryBound
}

interface MemoryBound {
  readonly share: 'largestBody' | 'largestAnswer' | 'work'
  /** Whether it is the whole share when it is not set. */
  readonly isDefault: boolean
}

const standard: Memory = divideMemory(standardMemory)

/** All settings, in the order of the documentation. */
export const keys: { readonly [P in keyof Config]: Key<Config[P]> } = {
  dataDir: key(
    'svc.dataDir',
    'SVC_DATA_DIR',
    text(),
    './data',
    'Folder for everything that the service stores, the embedded PostgreSQL included. Relative paths count from the working directory.',
  ),
  externalUrl: key(
    'svc.externalUrl',
    'SVC_EXTERNAL_URL',
    url(),
    '',
    'Address under which clients reach the service; `http://localhost:<port>` when not set.',
  ),
  databaseName: key(
    'svc.databaseName',
    'SVC_DATABASE_NAME',
    text(/^[\w-]{1,64}$/, 'letters, digits, _ and -'),
    'strongroom',
    'Name of this instance: the part after `@` in global object ids. Do not change it later.',
  ),
  rootPassword: key(
    'svc.rootPassword',
    'SVC_ROOT_PASSWORD',
    secret(8),
    null,
    'Password of the user `root`, set at each start. Without it the first start makes a random one and prints it; later starts print it again until somebody has signed in with it.',
  ),
  secretKey: key(
    'svc.secretKey',
    'SVC_SECRET_KEY',
    secret(32),
    null,
    'Key that secrets in the database are sealed with, such as passwords of other servers and those of authenticator apps. Without it one is made in the data folder (`secret-key`). Processes on several machines need the same one.',
  ),
  secretKeyBefore: key(
    'svc.secretKeyBefore',
    'SVC_SECRET_KEY_BEFORE',
    secret(32),
    null,
    'The key before, while keys are changed: the next start seals everything with the present one.',
  ),
  readOnly: key(
    'svc.readOnly',
    'SVC_READ_ONLY',
    boolean(),
    false,
    'Refuses everything that changes stored data with `ReadOnlyMode`.',
  ),
  logLevel: key(
    'svc.logLevel',
    'SVC_LOG_LEVEL',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'How much the log says.',
  ),
  slowStatement: key(
    'svc.slowStatement',
    'SVC_SLOW_STATEMENT',
    integer(0, 3_600_000),
    1000,
    'Milliseconds from which a statement of the database is told in the log, the first time with its plan, never with its parameters; 0: never.',
  ),
  identifierAliases: key(
    'svc.identifierAliases',
    'SVC_IDENTIFIER_ALIASES',
    list(/^[a-z][a-z0-9]*$/),
    [],
    'Words accepted beside `svc` in header and cookie names, for clients of another product word.',
  ),
  memory: key(
    'svc.memory',
    'SVC_MEMORY',
    memory(),
    standardMemory,
    'Megabytes (of 1024 × 1024 bytes) that this process may take: its heap, all caches and buffers, the largest body and answer. [Operations](operations.md#memory) says how they are divided. PostgreSQL and the processes that make renditions are not counted.',
  ),
  host: key('svc.http.host', 'SVC_HOST', text(), '127.0.0.1', 'Address to listen on; `0.0.0.0` for all.'),
  port: key('svc.http.port', 'SVC_PORT', integer(0, 65535), 8080, 'Port to listen on; 0: any free one.'),
  backendHost: key(
    'svc.http.backendHost',
    'SVC_BACKEND_HOST',
    text(),
    '127.0.0.1',
    'Address of the backend port. It has no sign-in: keep it in a private network.',
  ),
  backendPort: key(
    'svc.http.backendPort',
    'SVC_BACKEND_PORT',
    nullable(integer(0, 65535)),
    null,
    'Port of `/metrics`, `/ready`, `/healthz` and the [console](console.md) without sign-in; not served when not set.',
  ),
  backendActions: key(
    'svc.http.backendActions',
    'SVC_BACKEND_ACTIONS',
    boolean(),
    false,
    'The console of the backend port also changes things: everybody who reaches the port may then do so. Otherwise it only shows.',
  ),
  debugSqlQuery: key(
    'svc.debug.sqlQuery',
    'SVC_DEBUG_SQL_QUERY',
    boolean(),
    false,
    'The console has a page that asks the database by SQL, read-only. Its answers may be anything that the database holds, hashes of passwords too: for a while, to look for an error.',
  ),
  bodyLimit: key(
    'svc.http.bodyLimit',
    'SVC_BODY_LIMIT',
    integer(1024, 1024 ** 3),
    standard.largestBody,
    'Largest request body in bytes; a larger one is answered 413. As much as `SVC_MEMORY` allows when not set, and at most that.',
    { share: 'largestBody', isDefault: true },
  ),
  answerLimit: key(
    'svc.http.answerLimit',
    'SVC_ANSWER_LIMIT',
    integer(64 * 1024, 1024 ** 3),
    standard.largestAnswer,
    'Largest answer with objects in bytes. As much as `SVC_MEMORY` allows when not set, and at most that. A quarter of it is for linked objects that are embedded whole; further ones are short. What is larger even so is answered 400 `AnswerTooLarge`.',
    { share: 'largestAnswer', isDefault: true },
  ),
  requestTimeout: key(
    'svc.http.requestTimeout',
    'SVC_REQUEST_TIMEOUT',
    integer(1, 86_400),
    300,
    'Seconds in which a request must have arrived, its body included; then it is answered 408.',
  ),
  maxConnections: key(
    'svc.http.maxConnections',
    'SVC_MAX_CONNECTIONS',
    integer(10, 100_000),
    2000,
    'Most connections at a time; a further one is closed at once. Before that idle ones make room, first of whoever has most.',
  ),
  quotaConnections: key(
    'svc.quotas.connections',
    'SVC_QUOTA_CONNECTIONS',
    integer(1, 100),
    25,
    'Percent of `SVC_MAX_CONNECTIONS` that one address may have (of IPv6: a network of 64 bits): of its connections one that is idle is closed for a further one, or else that; and of requests that are not answered, a further one is answered 429. A proxy of `SVC_TRUSTED_PROXIES` is not counted, its clients are.',
  ),
  quotaHeavyRequests: key(
    'svc.quotas.heavyRequests',
    'SVC_QUOTA_HEAVY_REQUESTS',
    integer(1, 100),
    50,
    'Large requests of one user (one network, of guests) that may wait, of 100 in all; a further one is answered 429. Users take turns, and one who has none at work has a place beyond `SVC_HEAVY_REQUESTS` when others have all of these.',
  ),
  quotaStreams: key(
    'svc.quotas.streams',
    'SVC_QUOTA_STREAMS',
    integer(1, 100_000),
    20,
    'Event streams that one user may have open (one network, of guests); a further one is answered 429. Half of `SVC_MAX_CONNECTIONS` may be streams; when they are, whoever has most gives one to whoever has fewer.',
  ),
  quotaEventBytes: key(
    'svc.quotas.eventBytes',
    'SVC_QUOTA_EVENT_BYTES',
    integer(1024, 1024 ** 3),
    64 * 1024,
    'Bytes of one event that a client writes (`POST /event`); a larger one is answered 413. Root is not counted, here and in the next two.',
  ),
  quotaEvents: key(
    'svc.quotas.events',
    'SVC_QUOTA_EVENTS',
    integer(1, 1_000_000_000),
    10_000,
    'Events that one user (one network, of guests) may write within an hour, over all processes; a further one is answered 429.',
  ),
  quotaEventStorage: key(
    'svc.quotas.eventStorage',
    'SVC_QUOTA_EVENT_STORAGE',
    integer(1024, 2 ** 50),
    20 * 1024 * 1024,
    'Bytes of these events together; the same.',
  ),
  quotaUploads: key(
    'svc.quotas.uploads',
    'SVC_QUOTA_UPLOADS',
    integer(1, 100_000),
    200,
    'Uploads in pieces that one user may have begun and not ended; a further one is answered 429. One to which nothing comes for a day goes.',
  ),
  quotaUploadBytes: key(
    'svc.quotas.uploadBytes',
    'SVC_QUOTA_UPLOAD_BYTES',
    integer(1024, Number.MAX_SAFE_INTEGER),
    2 ** 40,
    'Bytes that these uploads of one user may announce together; the same. Nobody announces more than there is room for.',
  ),
  quotaHotfolderFiles: key(
    'svc.quotas.hotfolderFiles',
    'SVC_QUOTA_HOTFOLDER_FILES',
    integer(1, 1_000_000),
    20_000,
    'Files that clients may have dropped for one collection and that still lie in the hotfolder; a further one is answered 507.',
  ),
  quotaHotfolderBytes: key(
    'svc.quotas.hotfolderBytes',
    'SVC_QUOTA_HOTFOLDER_BYTES',
    integer(1024, Number.MAX_SAFE_INTEGER),
    100 * 2 ** 30,
    'Bytes of these files together; the same.',
  ),
  quotaPointsInTime: key(
    'svc.quotas.pointsInTime',
    'SVC_QUOTA_POINTS_IN_TIME',
    integer(1, 10_000),
    10,
    'Points in time (pages of a search that do not shift) that one user may have open (one network, of guests), over all processes; a further one is answered 429.',
  ),
  quotaAllPointsInTime: key(
    'svc.quotas.allPointsInTime',
    'SVC_QUOTA_ALL_POINTS_IN_TIME',
    integer(1, 100_000),
    200,
    'Points in time of all users together; the same.',
  ),
  quotaPointInTimeHits: key(
    'svc.quotas.pointInTimeHits',
    'SVC_QUOTA_POINT_IN_TIME_HITS',
    integer(1000, 100_000_000),
    1_000_000,
    'Objects that one point in time keeps (8 bytes each, in the database); a search that finds more is answered 400.',
  ),
  quotaSignIns: key(
    'svc.quotas.signIns',
    'SVC_QUOTA_SIGN_INS',
    integer(10, 10_000_000),
    1000,
    'Sign-ins of guests, by another server and by passkey that one address (of IPv6: a network of 64 bits) may begin within an hour, over all processes; a further one is answered 429. A network of 48 bits begins at most four times as many. When all have begun a hundred times as many, an address begins ten.',
  ),
  quotaDeepLinks: key(
    'svc.quotas.deepLinks',
    'SVC_QUOTA_DEEP_LINKS',
    integer(10, 100_000_000),
    10_000,
    'Deep links that callers without an account of their own may open from one address (of IPv6: a network of 64 bits) within an hour, over all processes; a further one is answered 429. A network of 48 bits may open four times as many.',
  ),
  quotaMails: key(
    'svc.quotas.mails',
    'SVC_QUOTA_MAILS',
    integer(1, 10_000_000),
    500,
    'Recipients to whom one user may send mail by hand (`POST /system/sendmail`), or of shares of collections, within an hour, over all processes, all copies counted; a further mail is answered 429. Mails that the service itself sends are not counted.',
  ),
  quotaTasks: key(
    'svc.quotas.tasks',
    'SVC_QUOTA_TASKS',
    integer(1, 1_000_000),
    1000,
    'Tasks that one user may have; a further one is answered 429.',
  ),
  quotaShareLinks: key(
    'svc.quotas.shareLinks',
    'SVC_QUOTA_SHARE_LINKS',
    integer(1, 1_000_000),
    1000,
    'Share links (short addresses) that one user may have; a further one is answered 429.',
  ),
  quotaCollections: key(
    'svc.quotas.collections',
    'SVC_QUOTA_COLLECTIONS',
    integer(1, 10_000_000),
    10_000,
    'Collections that may belong to one user; a further one is answered 429.',
  ),
  quotaCollectionEntries: key(
    'svc.quotas.collectionEntries',
    'SVC_QUOTA_COLLECTION_ENTRIES',
    integer(1, 1_000_000_000),
    5_000_000,
    'Entries in the lists of all collections of one user; what would be more is answered 429.',
  ),
  quotaExports: key(
    'svc.quotas.exports',
    'SVC_QUOTA_EXPORTS',
    integer(1, 1_000_000),
    1000,
    'Exports that one user may have; a further one is answered 429.',
  ),
  quotaExportRuns: key(
    'svc.quotas.exportRuns',
    'SVC_QUOTA_EXPORT_RUNS',
    integer(1, 1000),
    1,
    'Runs of exports of one user that go on at the same time, over all processes; further ones wait. Fewer than the places of the export lane, so that others find one.',
  ),
  quotaArchives: key(
    'svc.quotas.archives',
    'SVC_QUOTA_ARCHIVES',
    integer(1, 1000),
    3,
    'Archives of exports that one user, or whoever has the address of a transport, takes from one process at the same time; a further one is answered 429.',
  ),
  quotaShares: key(
    'svc.quotas.shares',
    'SVC_QUOTA_SHARES',
    integer(1, 1_000_000),
    100,
    'Anonymous links and e-mail users that one user may make by grants on collections within an hour, over all processes; a further one is answered 429.',
  ),
  quotaSessions: key(
    'svc.quotas.sessions',
    'SVC_QUOTA_SESSIONS',
    integer(10, 1_000_000),
    1000,
    'Sessions that one user may have; a further sign-in ends the one that was not used for the longest time.',
  ),
  slowGrace: key(
    'svc.http.slowGrace',
    'SVC_SLOW_GRACE',
    integer(1, 3600),
    15,
    'Seconds over which a client is watched that sends its request, or takes its answer, slower than `SVC_LEAST_RATE`; then its connection is closed.',
  ),
  leastRate: key(
    'svc.http.leastRate',
    'SVC_LEAST_RATE',
    integer(0, 1_000_000),
    1000,
    'Bytes per second that a client must send or take at least; 0: any slowness will do.',
  ),
  readTimeLimit: key(
    'svc.http.readTimeLimit',
    'SVC_READ_TIME_LIMIT',
    integer(1, 3600),
    30,
    'Seconds that a request which only reads may keep the database busy; then its statement is cancelled and it is answered 503 `TimeLimitExceeded`.',
  ),
  writeTimeLimit: key(
    'svc.http.writeTimeLimit',
    'SVC_WRITE_TIME_LIMIT',
    integer(1, 36_000),
    300,
    'The same for a request that writes.',
  ),
  indexCheckPause: key(
    'svc.index.check.pause',
    'SVC_INDEX_CHECK_PAUSE',
    integer(0, 3600),
    20,
    'Seconds between two steps in which a hundred documents of the search index are compared with their objects; 0: none are.',
  ),
  indexCheckEvery: key(
    'svc.index.check.every',
    'SVC_INDEX_CHECK_EVERY',
    integer(1, 8760),
    24,
    'Hours between the end of a check of the whole search index and the beginning of the next one.',
  ),
  heavyRequests: key(
    'svc.http.heavyRequests',
    'SVC_HEAVY_REQUESTS',
    integer(1, 100),
    2,
    'Large requests (long lists, large saves, expensive searches) that are worked on at the same time; further ones wait, and users take turns.',
  ),
  corsOrigins: key(
    'svc.http.corsOrigins',
    'SVC_CORS_ORIGINS',
    pageOrigins(),
    [],
    'Origins whose pages may call the service; `*` for all.',
  ),
  trustedProxies: key(
    'svc.http.trustedProxies',
    'SVC_TRUSTED_PROXIES',
    proxies(),
    ['loopback'],
    'Addresses or networks of proxies whose `X-Forwarded-*` headers are believed; also `loopback`, `linklocal`, `uniquelocal`.',
  ),
  stopTimeout: key(
    'svc.http.stopTimeout',
    'SVC_STOP_TIMEOUT',
    integer(0, 3600),
    30,
    'Seconds that requests in flight get to finish when the service stops.',
  ),
  dbDsn: key(
    'svc.db.dsn',
    'SVC_DB_DSN',
    nullable(dsn()),
    null,
    'Connection string of a PostgreSQL (16 or newer) to use in place of the embedded one.',
  ),
  dbMaxConnections: key(
    'svc.db.maxConnections',
    'SVC_DB_MAX_CONNECTIONS',
    integer(fewestConnections, 1000),
    30,
    'Most database connections of this process, all counted.',
  ),
  lockTimeout: key(
    'svc.db.lockTimeout',
    'SVC_LOCK_TIMEOUT',
    integer(1, 600_000),
    5000,
    'Milliseconds that a write waits for a lock before it is answered 423 `DatabaseLockError`.',
  ),
  allowPurge: key(
    'svc.objects.allowPurge',
    'SVC_ALLOW_PURGE',
    boolean(),
    true,
    'Allows `delete_policy=purge`, which removes objects of the trash for good.',
  ),
  allowPurgeAll: key(
    'svc.allowPurgeAll',
    'SVC_ALLOW_PURGE_ALL',
    boolean(),
    false,
    'Allows root to bring the whole instance to its first state (`POST /system/purgeall`), where `purge.allow_purge` of the base configuration does so too.',
  ),
  versionConvention: key(
    'svc.objects.versionConvention',
    'SVC_VERSION_CONVENTION',
    oneOf('stored', 'next'),
    'stored',
    'Which `_version` an update sends: the stored one, or `next`: the stored one plus one.',
  ),
  fileFolders: key(
    'svc.files.folders',
    'SVC_FILE_FOLDERS',
    folders(),
    [],
    'Absolute folders, besides the data folder, in which locations of files may lie.',
  ),
  hotfolderPath: key(
    'svc.hotfolder.path',
    'SVC_HOTFOLDER_PATH',
    nullable(text()),
    null,
    'Folder into which files are dropped that are imported into collections, one folder below it for each collection; `hotfolder` in the data folder when not set. Several processes on one database share it.',
  ),
  hotfolderReserve: key(
    'svc.hotfolder.reserve',
    'SVC_HOTFOLDER_RESERVE',
    integer(0, 1_000_000),
    1000,
    'Megabytes that stay free on the disk of the hotfolder: what clients send beyond that is answered 507.',
  ),
  mappingPaths: key(
    'svc.mappings.paths',
    'SVC_MAPPING_PATHS',
    folders(),
    [],
    'Absolute paths of folders, or of single files, with further profiles of mappings of metadata (`.yml`).',
  ),
  mediaMemory: key(
    'svc.files.media.memory',
    'SVC_MEDIA_MEMORY',
    integer(200, 100_000),
    1500,
    'Megabytes of memory that a process which makes renditions may take; then it is ended, and the rendition has failed.',
  ),
  mediaSeconds: key(
    'svc.files.media.seconds',
    'SVC_MEDIA_SECONDS',
    integer(1, 86_400),
    300,
    'Seconds that one file may take; the same.',
  ),
  mediaDrawingSeconds: key(
    'svc.files.media.drawingSeconds',
    'SVC_MEDIA_DRAWING_SECONDS',
    integer(1, 86_400),
    5,
    'The same for a drawing (SVG): a few lines of it can be hours of work.',
  ),
  mediaPixels: key(
    'svc.files.media.pixels',
    'SVC_MEDIA_PIXELS',
    integer(1, 10_000),
    500,
    'Millions of pixels that a picture may have.',
  ),
  mediaOutput: key(
    'svc.files.media.output',
    'SVC_MEDIA_OUTPUT',
    integer(1, 100_000),
    4000,
    'Megabytes that may be made of one file.',
  ),
  ffmpeg: key(
    'svc.files.media.ffmpeg',
    'SVC_FFMPEG',
    text(),
    'ffmpeg',
    'Path of the program, or its name where it is on the path of the machine: for films and sounds.',
  ),
  ffprobe: key('svc.files.media.ffprobe', 'SVC_FFPROBE', text(), 'ffprobe', 'The same: comes with ffmpeg.'),
  soffice: key('svc.files.media.soffice', 'SVC_SOFFICE', text(), 'soffice', 'The same, of LibreOffice: for documents.'),
  ...laneKeys(),
  allowPrivateFiles: key(
    'svc.files.remote.allowPrivate',
    'SVC_ALLOW_PRIVATE_FILES',
    boolean(),
    false,
    'Lets files be fetched from addresses of private networks.',
  ),
  blockedFileHosts: key(
    'svc.files.remote.blockedHosts',
    'SVC_BLOCKED_FILE_HOSTS',
    list(/^((\*\.)?[\w-]+(\.[\w-]+)*|[\da-fA-F:.]+(\/\d{1,3})?)$/),
    [],
    'Hosts from which no file is fetched: names, `*.example.org`, addresses, networks such as `10.1.0.0/16`.',
  ),
  allowPrivateWebhooks: key(
    'svc.webhooks.allowPrivate',
    'SVC_ALLOW_PRIVATE_WEBHOOKS',
    boolean(),
    false,
    'Lets webhooks call addresses of private networks.',
  ),
  allowPrivateExports: key(
    'svc.exports.allowPrivate',
    'SVC_ALLOW_PRIVATE_EXPORTS',
    boolean(),
    false,
    'Lets transports of exports reach addresses of private networks.',
  ),
  pluginPaths: key(
    'svc.plugins.paths',
    'SVC_PLUGIN_PATHS',
    folders(),
    [],
    'Absolute folders that are searched, with those below them, for plugins when the service starts: each `manifest.yml` is one.',
  ),
  allowPluginInstall: key(
    'svc.plugins.allowInstall',
    'SVC_ALLOW_PLUGIN_INSTALL',
    boolean(),
    true,
    'Plugins may be installed and updated over the interface, by holders of `system.plugin`. Their programs run as the service. The container sets it to `false`.',
  ),
  allowPrivatePlugins: key(
    'svc.plugins.allowPrivate',
    'SVC_ALLOW_PRIVATE_PLUGINS',
    boolean(),
    false,
    'Lets plugins be fetched from addresses of private networks.',
  ),
  pluginServices: key(
    'svc.plugins.services',
    'SVC_PLUGIN_SERVICES',
    list(/^[a-z][a-z0-9_-]{0,63}=\/\S+$/),
    [],
    'Programs that plugins may run besides `node` (that of the service), `python3` and their own: `ruby=/usr/bin/ruby`. `python3` is looked for on the path of the machine unless it stands here.',
  ),
  pluginSeconds: key(
    'svc.plugins.seconds',
    'SVC_PLUGIN_SECONDS',
    integer(1, 3600),
    30,
    'Seconds that a program of a plugin has, where its manifest does not say; no manifest gets more than an hour.',
  ),
  pluginWait: key(
    'svc.plugins.wait',
    'SVC_PLUGIN_WAIT',
    integer(1, 3600),
    60,
    'Seconds that a call of a plugin waits while all places of that plugin are taken.',
  ),
  pluginMemory: key(
    'svc.plugins.memory',
    'SVC_PLUGIN_MEMORY',
    integer(32, 100_000),
    512,
    'Megabytes of memory that a program of a plugin may take, with all that it starts; then it is ended.',
  ),
  pluginOutput: key(
    'svc.plugins.output',
    'SVC_PLUGIN_OUTPUT',
    integer(1, 1000),
    16,
    'Megabytes that a callback may answer.',
  ),
  pluginPlaces: key(
    'svc.plugins.places',
    'SVC_PLUGIN_PLACES',
    integer(1, 100),
    4,
    'Programs of one plugin that run at the same time; further calls of that plugin wait.',
  ),
  outgoingAnswerLimit: key(
    'svc.outgoing.answerLimit',
    'SVC_OUTGOING_ANSWER_LIMIT',
    integer(64 * 1024, 1024 ** 3),
    4 * 1024 * 1024,
    'Bytes of an answer of another server that is read as a whole (OpenID providers, metadata of SAML, LDAP, webhooks, mail servers); a longer one is a failure. Contents of files have limits of their own. At most what `SVC_MEMORY` has for the work on requests.',
    { share: 'work', isDefault: false },
  ),
  tracingEndpoint: key(
    'svc.tracing.endpoint',
    'SVC_TRACING_ENDPOINT',
    nullable(url()),
    null,
    'Address of a collector of traces, which takes OTLP over HTTP (`http://localhost:4318`): requests, statements, jobs and outgoing calls are sent to it as spans, without parameters and addresses. Needs the packages of OpenTelemetry (docs/operations.md). Without it nothing is traced.',
  ),
  tracingPercent: key(
    'svc.tracing.percent',
    'SVC_TRACING_PERCENT',
    integer(1, 100),
    100,
    'How many of a hundred traces are kept.',
  ),
  outgoingTimeout: key(
    'svc.outgoing.timeout',
    'SVC_OUTGOING_TIMEOUT',
    integer(1, 3600),
    120,
    'Seconds that one exchange with such a server takes at most, however slowly it answers; sign-ins wait for less.',
  ),
  loginAllowRedirects: key(
    'svc.services.webapp.loginAllowRedirects',
    'SVC_LOGIN_ALLOW_REDIRECTS',
    origins(),
    [],
    'Origins besides that of the service to which a sign-in may send the browser back: `https://portal.example.org`; `*` as the whole first label stands for one label, `:*` for any port; of a program on a device its scheme, `org.example.app:`.',
  ),
  oauthClients: key(
    'svc.services.api.oauth2Server.clients',
    'SVC_OAUTH2_CLIENTS',
    clients(),
    [],
    'OAuth2 clients by id: `secret` (bcrypt hash, at most 14 rounds; none for public clients), `redirectURIs`, `scopes`, `pkce` (`required` or `optional`; what public clients must do), `versionConvention` (`stored` or `next`; otherwise that of `svc.objects.versionConvention`).',
  ),
}

function laneKeys(): { readonly [P in keyof LaneSettings]: Key<number> } {
  const entries = (Object.keys(jobLanes) as Lane[]).map((lane) => {
    const { places, doc } = jobLanes[lane]
    const text = `How many jobs this process works on at the same time in ${doc}`
    return [laneSetting(lane), key(`svc.jobs.${lane}`, `SVC_JOBS_${lane.toUpperCase()}`, integer(1, 100), places, text)]
  })
  return Object.fromEntries(entries)
}

function key<T>(path: string, env: string, form: Form<T>, standard: T, doc: string, bound?: MemoryBound): Key<T> {
  const own = { path, env, default: standard, doc, ...(bound === undefined ? {} : { bound }) }
  return { ...own, fromText: (_name, value) => value, show: (value) => value, ...form }
}
