import type { Texts } from './texts.en.ts'

/** What the pages say, in German. */
export const german: Texts = {
  'page.skip': 'Zum Formular',
  'page.required': 'Pflichtfeld',

  'error.title': 'Das hat nicht geklappt',
  'error.back': 'Gehen Sie zurück zu der Anwendung, aus der Sie gekommen sind, und beginnen Sie dort noch einmal.',
  'error.technical': 'Für die Betreuung der Anwendung: {detail}',
  'error.request': 'Im Protokoll steht diese Anfrage unter {id}.',
  'error.badRequest': 'Die Adresse oder das Formular, das Ihr Browser geschickt hat, ist unvollständig oder falsch.',
  'error.formExpired':
    'Dieses Formular ist zu alt, oder Ihr Browser behält für diese Adresse keine Cookies. Erlauben Sie Cookies und versuchen Sie es noch einmal.',
  'error.loginExpired':
    'Diese Anmeldung hat zu lange gedauert oder ist schon beendet. Bitte melden Sie sich von vorn an.',
  'error.tooMany': 'Es waren zu viele Versuche. Versuchen Sie es in {minutes} Minuten wieder.',
  'error.unavailable': 'Der Dienst ist ausgelastet oder startet gerade. Versuchen Sie es in einer Minute wieder.',
  'error.internal':
    'Hier ist etwas schiefgegangen. Versuchen Sie es noch einmal; geschieht es wieder, sagen Sie es denen, die diesen Dienst betreiben.',

  'login.title': 'Anmelden',
  'login.to': 'bei {name}',
  'login.login': 'Anmeldename oder E-Mail-Adresse',
  'login.password': 'Passwort',
  'login.keep': 'Auf diesem Gerät {days} Tage angemeldet bleiben',
  'login.submit': 'Anmelden',
  'login.guest': 'Als Gast fortfahren',
  'login.or': 'oder',
  'login.missing': 'Geben Sie Anmeldename und Passwort ein.',
  'login.wrong': 'Anmeldename oder Passwort ist falsch, oder dieses Konto ist zurzeit nicht benutzbar.',
  'login.directoryDown':
    'Anmeldename oder Passwort ist falsch, oder das Verzeichnis Ihrer Einrichtung ist zurzeit nicht erreichbar. Versuchen Sie es später wieder.',
  'login.providerDown': 'Der Server Ihrer Einrichtung ist zurzeit nicht erreichbar. Versuchen Sie es später wieder.',
  'login.startAgain': 'Zurück zur Anmeldung',
  'login.refused.conflict':
    'Ihr Anmeldename oder Ihre Adresse gehört hier zu einem anderen Konto. Die Administration kann dieses Konto an das Verzeichnis Ihrer Einrichtung übergeben.',
  'login.refused.incomplete':
    'Das Verzeichnis Ihrer Einrichtung sagt nicht genug über Sie. Was fehlt, steht für die Administration in den Ereignissen.',
  'login.refused.locked': 'Dieses Konto ist zurzeit nicht benutzbar.',
  'login.refused.unproved':
    'Der Server Ihrer Einrichtung hat eine Antwort gegeben, die nichts beweist. Beginnen Sie die Anmeldung hier noch einmal.',
  'login.blocked': 'Es waren zu viele falsche Passwörter. Versuchen Sie es in {minutes} Minuten wieder.',
  'login.startOver': 'Es waren zu viele falsche Antworten. Bitte melden Sie sich noch einmal an.',

  'factor.title': 'Zweiter Schritt',
  'factor.code': 'Code',
  'factor.codeHint': 'Die sechs Ziffern, die Ihre Authentifizierungs-App jetzt zeigt.',
  'factor.submit': 'Weiter',
  'factor.wrong':
    'Dieser Code ist falsch, zu alt oder schon benutzt. Warten Sie auf den nächsten und versuchen Sie es noch einmal.',
  'factor.useTotp': 'Die Authentifizierungs-App benutzen',
  'factor.useRecovery': 'Einen Wiederherstellungscode benutzen',
  'factor.newCodes': 'Neue Wiederherstellungscodes geben; die alten enden',
  'factor.chooseTitle': 'Wie soll es weitergehen?',
  'factor.recoveryCode': 'Wiederherstellungscode',
  'factor.recoveryHint': 'Einer der Codes, die Sie aufbewahrt haben. Er gilt einmal.',
  'factor.usePasskey': 'Einen Passkey benutzen',
  'factor.useEmail': 'Einen Code per E-Mail bekommen',
  'factor.mailHow': 'Ein Code kommt an {address}.',
  'factor.sendMail': 'Code schicken',
  'factor.sendAgain': 'Noch einen Code schicken',
  'factor.mailHint': 'Die sechs Ziffern in der E-Mail an {address}. Sie gelten {minutes} Minuten und nur hier.',
  'factor.tooManyMails': 'Es waren zu viele E-Mails. Benutzen Sie den letzten Code, oder warten Sie zehn Minuten.',
  'factor.newFactor': 'Eine andere App oder einen Passkey einrichten; eine App davor gilt nicht mehr',
  'factor.setupTitle': 'Zweiten Schritt einrichten',
  'factor.setupWhy':
    'Neben dem Passwort fragt die Anmeldung nach einem Code aus einer Authentifizierungs-App auf Ihrem Telefon oder in einem Passwortmanager.',
  'factor.setupScan': 'Nehmen Sie dieses Bild mit der App auf:',
  'factor.setupPicture': 'QR-Code für die Authentifizierungs-App; der Schlüssel darunter sagt dasselbe',
  'factor.setupKey': 'Oder geben Sie in der App diesen Schlüssel ein:',
  'factor.setupSubmit': 'Einrichten',
  'factor.setupAppInstead': 'Stattdessen eine Authentifizierungs-App benutzen',
  'factor.setupNothing':
    'Dieses Konto braucht mehr als ein Passwort, aber nichts ist eingeschaltet, was Sie einrichten könnten. Fragen Sie die, die diesen Dienst betreuen.',
  'factor.recoveryTitle': 'Codes zur Wiederherstellung aufbewahren',
  'factor.recoveryWhat':
    'Ohne App oder Passkey kommen Sie mit einem dieser Codes hinein, mit jedem einmal. Sie werden nicht wieder gezeigt.',
  'factor.recoveryKeep':
    'Drucken Sie sie aus oder schreiben Sie sie auf, und bewahren Sie sie getrennt von diesem Gerät auf.',
  'factor.recoverySubmit': 'Ich habe sie aufbewahrt',

  'passkey.signIn': 'Mit einem Passkey anmelden',
  'passkey.signInHow': 'Ihr Gerät fragt nach Finger, Gesicht oder PIN. Anmeldename und Passwort brauchen Sie nicht.',
  'passkey.password': 'Mit Passwort anmelden',
  'passkey.failed': 'Das hat nicht geklappt oder wurde abgebrochen. Versuchen Sie es noch einmal.',
  'passkey.refused': 'Dieser Passkey ist hier nicht bekannt, oder das Konto ist zurzeit nicht benutzbar.',
  'passkey.unsupported': 'Dieser Browser kennt keine Passkeys.',
  'passkey.noScript': 'Passkeys brauchen JavaScript, das in diesem Browser aus ist.',
  'passkey.setupWhy':
    'Neben dem Passwort fragt die Anmeldung nach einem Passkey, den dieses Gerät, ein Sicherheitsschlüssel oder ein Passwortmanager aufbewahrt.',
  'passkey.setupSubmit': 'Passkey einrichten',
  'passkey.setupInstead': 'Stattdessen einen Passkey benutzen',
  'passkey.name': 'Name des Passkeys',
  'passkey.nameHint': 'Damit Sie ihn unter anderen wiedererkennen: zum Beispiel das Gerät.',
  'passkey.unnamed': 'Passkey',

  'security.title': 'Anmeldung und Sicherheit',
  'security.nothing': 'Für dieses Konto lässt sich kein zweiter Schritt einrichten.',
  'security.last': 'Eine Gruppe verlangt einen zweiten Schritt. Richten Sie erst einen anderen ein.',
  'security.app': 'Authentifizierungs-App',
  'security.appThere': 'Eine App ist eingerichtet.',
  'security.appNone': 'Keine App ist eingerichtet.',
  'security.appSetUp': 'Eine App einrichten',
  'security.appReplace': 'Eine andere App einrichten; die davor gilt nicht mehr',
  'security.appRemove': 'Die App entfernen',
  'security.passkeys': 'Passkeys',
  'security.passkeyNone': 'Es gibt keinen Passkey.',
  'security.passkeyAdd': 'Einen Passkey hinzufügen',
  'security.passkeyName': 'Name',
  'security.since': 'Angelegt am {date}.',
  'security.used': 'Zuletzt benutzt am {date}.',
  'security.unused': 'Noch nicht benutzt.',
  'security.rename': '{name} umbenennen',
  'security.remove': '{name} entfernen',
  'security.codes': 'Wiederherstellungscodes',
  'security.codesLeft': 'Noch {count} übrig.',
  'security.codesNew': 'Neue Codes geben; die alten enden',
  'security.go': 'Fertig',
  'security.doneTitle': 'Fertig',
  'security.done': 'Sie können dieses Fenster schließen.',

  'signOut.title': 'Abmelden?',
  'signOut.text': 'Sie kommen von einer anderen Seite. Möchten Sie sich in diesem Browser abmelden?',
  'signOut.submit': 'Abmelden',
  'signedOut.title': 'Abgemeldet',
  'signedOut.text':
    'Sie haben sich in diesem Browser abgemeldet. Schließen Sie an einem Rechner, den auch andere benutzen, jetzt den Browser.',

  'page.home': 'Zur Startseite',

  'login.forgot': 'Passwort vergessen?',
  'login.register': 'Konto anlegen',

  'password.new': 'Neues Passwort',
  'password.again': 'Neues Passwort noch einmal',
  'password.submit': 'Passwort setzen',
  'password.missing': 'Geben Sie ein neues Passwort ein.',
  'password.different': 'Die beiden Passwörter sind nicht gleich.',
  'password.tooLong': 'Ein Passwort hat höchstens {most} Zeichen.',
  'password.weak': 'Das Passwort entspricht nicht den Regeln für Passwörter.',
  'password.same': 'Dieses Passwort haben Sie schon. Wählen Sie ein anderes.',

  'setPassword.title': 'Neues Passwort setzen',
  'setPassword.text': 'Hallo {name}, bevor es weitergeht, wählen Sie bitte ein neues Passwort für Ihr Konto.',

  'forgotPassword.title': 'Passwort vergessen?',
  'forgotPassword.text': 'Sie bekommen eine E-Mail mit einem Link für ein neues Passwort.',
  'forgotPassword.submit': 'Link schicken',
  'forgotPassword.missing': 'Geben Sie Ihren Anmeldenamen oder Ihre E-Mail-Adresse ein.',
  'forgotPassword.sentTitle': 'Sehen Sie in Ihr Postfach',
  'forgotPassword.sent':
    'Wenn es ein Konto mit diesem Namen oder dieser Adresse gibt, ist eine E-Mail mit einem Link unterwegs.',
  'forgotPassword.wait': 'Das kann einige Minuten dauern. Sehen Sie auch unter unerwünschter Post nach.',
  'forgotPassword.noMail':
    'Dieser Dienst verschickt keine E-Mails. Bitten Sie die, die ihn betreuen, um ein neues Passwort.',

  'resetPassword.title': 'Neues Passwort setzen',
  'resetPassword.text': 'Hallo {name}, wählen Sie ein neues Passwort für Ihr Konto.',
  'resetPassword.again': 'Einen anderen Link anfordern',
  'resetPassword.doneTitle': 'Passwort gesetzt',
  'resetPassword.done':
    'Sie können sich jetzt mit dem neuen Passwort anmelden. Wo immer Sie angemeldet waren, sind Sie es nicht mehr.',

  'link.expired.title': 'Dieser Link gilt nicht mehr',
  'link.expired': 'Der Link wurde schon benutzt, ist zu alt oder nicht vollständig.',

  'confirmEmail.title': 'E-Mail-Adresse bestätigen',
  'confirmEmail.text': 'Gehört die Adresse {email} Ihnen?',
  'confirmEmail.submit': 'Adresse bestätigen',
  'confirmEmail.doneTitle': 'Adresse bestätigt',
  'confirmEmail.done': 'Danke. Sie können sich jetzt anmelden.',
  'confirmEmail.expired':
    'Wenn Sie sich nicht anmelden können, bitten Sie die, die diesen Dienst betreuen, um eine neue E-Mail.',

  'register.title': 'Konto anlegen',
  'register.email': 'E-Mail-Adresse, mit der Sie sich anmelden',
  'register.optional': '{label} (wenn Sie möchten)',
  'register.agree': 'Ich bin einverstanden',
  'register.submit': 'Konto anlegen',
  'register.badEmail': 'Geben Sie Ihre E-Mail-Adresse ein.',
  'register.missing': 'Bitte ausfüllen: {label}.',
  'register.tooLong': 'Das ist zu lang: {label}.',
  'register.mustAgree': 'Ohne Ihr Einverständnis gibt es kein Konto.',
  'register.closed': 'Hier kann zurzeit niemand ein Konto anlegen.',
  'register.sentTitle': 'Sehen Sie in Ihr Postfach',
  'register.sent':
    'Eine E-Mail mit einem Link ist unterwegs. Damit bestätigen Sie Ihre Adresse und wählen ein Passwort.',

  'field.first_name': 'Vorname',
  'field.last_name': 'Nachname',
  'field.displayname': 'Name, den andere sehen',
  'field.company': 'Einrichtung',
  'field.department': 'Abteilung',
  'field.phone': 'Telefon',
  'field.address_supplement': 'Adresszusatz',
  'field.street': 'Straße',
  'field.house_number': 'Hausnummer',
  'field.postal_code': 'Postleitzahl',
  'field.town': 'Ort',
  'field.state': 'Bundesland',
  'field.country': 'Land',

  'message.title': 'Bevor es weitergeht',
  'message.go': 'Weiter',
  'message.decline': 'Ich bin nicht einverstanden',
  'message.mustAgree': 'Kreuzen Sie an, womit Sie einverstanden sind. Ohne das geht es nicht weiter.',
  'message.changed': 'Es gibt etwas Neues. Bitte lesen Sie noch einmal.',
  'message.declined': 'Nicht angemeldet',
  'message.declinedText':
    'Sie sind nicht einverstanden, deshalb sind Sie nicht angemeldet. Sie können dieses Fenster schließen.',

  'mail.greeting': 'Hallo {name},',
  'mail.welcome.subject': 'Ihr Konto: {instance}',
  'mail.welcome.text': 'es gibt ein Konto für Sie bei {instance}, {address}. Sie melden sich als {login} an.',
  'mail.welcome.link': 'Wählen Sie hier innerhalb von sieben Tagen Ihr Passwort:',
  'mail.access.subject': 'Ihr Zugang: {instance}',
  'mail.access.text':
    'Sie sind eingeladen zu {instance}, {address}. Sie melden sich als {login} an, ohne eigenes Passwort.',
  'mail.access.link': 'Geben Sie statt eines Passworts dies ein, und behalten Sie es für sich:',
  'mail.confirm.subject': 'Bestätigen Sie Ihre E-Mail-Adresse: {instance}',
  'mail.confirm.text':
    'diese Adresse wurde für ein Konto bei {instance} angegeben. Bestätigen Sie, dass sie Ihnen gehört; dann ist das Konto benutzbar.',
  'mail.confirm.link': 'Innerhalb von sieben Tagen, hier:',
  'mail.confirm.otherwise': 'Wenn Sie von einem solchen Konto nichts wissen, ist nichts zu tun.',
  'mail.reset.subject': 'Ein neues Passwort: {instance}',
  'mail.reset.text': 'jemand, wahrscheinlich Sie, möchte ein neues Passwort für Ihr Konto bei {instance}.',
  'mail.reset.link': 'Wählen Sie es hier innerhalb einer Stunde:',
  'mail.reset.otherwise': 'Wenn Sie es nicht waren, ist nichts zu tun: Ihr Passwort bleibt, wie es ist.',
  'mail.register.subject': 'Ihr Konto: {instance}',
  'mail.register.text': 'jemand, wahrscheinlich Sie, möchte mit dieser Adresse ein Konto bei {instance}.',
  'mail.register.link':
    'Um zu bestätigen, dass die Adresse Ihnen gehört, wählen Sie hier innerhalb von sieben Tagen ein Passwort:',
  'mail.register.otherwise':
    'Wenn Sie es nicht waren, ist nichts zu tun: Ohne diese E-Mail kann niemand das Konto benutzen.',
  'mail.code.subject': 'Ihr Code: {instance}',
  'mail.code.text': 'das ist der Code, mit dem Sie sich bei {instance} anmelden:',
  'mail.code.code': '{code}',
  'mail.code.otherwise':
    'Er gilt {minutes} Minuten, in dem Browser, der ihn angefordert hat. Waren Sie das nicht, kennt jemand Ihr Passwort: Ändern Sie es.',
  'mail.known.subject': 'Sie haben ein Konto: {instance}',
  'mail.known.text':
    'jemand, wahrscheinlich Sie, wollte mit dieser Adresse ein Konto bei {instance} anlegen. Es gibt schon eines.',
  'mail.known.link': 'Wenn Sie Ihr Passwort vergessen haben, wählen Sie hier innerhalb einer Stunde ein anderes:',
  'mail.known.otherwise': 'Wenn Sie es nicht waren, ist nichts zu tun.',
}
