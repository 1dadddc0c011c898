;;; amp.el.el --- the stimuli for wirecert  -*- lexical-binding: t; -*-

;; Runs inside the Emacs that is certified: starts the package, and offers the stimuli.
;;
;; Each stimulus is a line on the socket that amp.el.yaml names, `{"NAME":{…}}`.  It is answered by a line once it is done:
;; `{"ok":null}`, or `{"error":"…"}`, or `{"unable":"…"}` where Emacs cannot do that.

(require 'cl-lib)
(require 'flymake)
(require 'json)
(require 'package)

;;; Only the package is on trial

(setq inhibit-startup-screen t
      ring-bell-function #'ignore
      make-backup-files nil
      auto-save-default nil
      create-lockfiles nil
      enable-local-variables nil
      confirm-kill-processes nil
      revert-without-query '("")
      flymake-no-changes-timeout nil)
;; Nobody is there to answer.
(advice-add 'yes-or-no-p :override (lambda (&rest _) (error "Emacs asks its user something")))
(advice-add 'y-or-n-p :override (lambda (&rest _) (error "Emacs asks its user something")))
(advice-add 'ask-user-about-supersession-threat :override #'ignore)

;; HOME is another one here: what the package needs is where the user has it.
(dolist (folder '(".config/emacs/elpa" ".emacs.d/elpa"))
  (let ((folder (expand-file-name folder (expand-file-name (concat "~" (user-login-name))))))
    (when (file-directory-p folder)
      (setq package-user-dir folder))))
(package-initialize)

;;; What each stimulus does

(define-error 'wirecert-unable "The editor cannot do this")

(defvar wirecert-diagnostics (make-hash-table :test #'equal)
  "The diagnostics of each file, as Flymake is to report them.")

(defun wirecert-position (line column)
  "The position of LINE and COLUMN, which count from 0, in the current buffer."
  (save-excursion
    (goto-char (point-min))
    (forward-line line)
    (min (+ (point) column) (line-end-position))))

(defun wirecert-show (path)
  "Show the file PATH in the only window."
  (deactivate-mark)
  ;; Without wildcards: the path is taken literally.
  (switch-to-buffer (find-file-noselect path t))
  (delete-other-windows))

(defun wirecert-report (report &rest _)
  "Give Flymake's function REPORT the diagnostics of the current buffer."
  (funcall
   report
   (mapcar
    (lambda (item)
      (cl-flet ((at (line column) (wirecert-position (alist-get line item) (alist-get column item))))
        (flymake-make-diagnostic
         (current-buffer) (at 'start_line 'start_col) (at 'end_line 'end_col)
         (pcase (alist-get 'severity item) ("error" :error) ("warning" :warning) (_ :note))
         (alist-get 'message item))))
    (gethash (buffer-file-name) wirecert-diagnostics))))

(cl-defgeneric wirecert-stimulus (name params)
  "Do what the stimulus NAME stands for, with the alist PARAMS."
  (error "There is no stimulus %s" name (ignore params)))

(cl-defmethod wirecert-stimulus ((_ (eql open)) params)
  (wirecert-show (alist-get 'path params)))

(cl-defmethod wirecert-stimulus ((_ (eql open_beside)) params)
  (deactivate-mark)
  (select-window (split-window (frame-root-window)))
  (switch-to-buffer (find-file-noselect (alist-get 'path params) t)))

(cl-defmethod wirecert-stimulus ((_ (eql close)) params)
  (let ((buffer (find-buffer-visiting (alist-get 'path params))))
    (when buffer
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (kill-buffer)))))

(defun wirecert-select (params backward)
  "Select the range that PARAMS name, and leave point at its end, or if BACKWARD where it begins."
  (wirecert-show (alist-get 'path params))
  (let-alist params
    (let ((start (wirecert-position .start_line .start_col))
          (end (wirecert-position .end_line .end_col)))
      (unless (= start end)
        (push-mark (if backward end start) t t)
        ;; Else the mark is given up at the end of the command.
        (setq deactivate-mark nil))
      (goto-char (if backward start end)))))

(cl-defmethod wirecert-stimulus ((_ (eql select)) params)
  (wirecert-select params nil))

(cl-defmethod wirecert-stimulus ((_ (eql select_backward)) params)
  (wirecert-select params t))

(cl-defmethod wirecert-stimulus ((_ (eql edit)) params)
  (with-current-buffer (find-file-noselect (alist-get 'path params) t)
    (erase-buffer)
    (insert (alist-get 'text params))))

(cl-defmethod wirecert-stimulus ((_ (eql diagnostics)) params)
  (with-current-buffer (find-file-noselect (alist-get 'path params) t)
    (puthash (buffer-file-name) (append (alist-get 'items params) nil) wirecert-diagnostics)
    (setq-local flymake-diagnostic-functions '(wirecert-report))
    (flymake-mode 1)
    (flymake-start)
    ;; They are overlays, and one without a character is gone at once.
    (when (and (> (length (alist-get 'items params)) 0) (= (buffer-size) 0))
      (signal 'wirecert-unable '("Flymake holds no diagnostic in an empty buffer")))))

(cl-defmethod wirecert-stimulus ((_ (eql message)) params)
  (amp-send-message (alist-get 'message params)))

(cl-defmethod wirecert-stimulus ((_ (eql prompt)) params)
  (amp-send-to-prompt (alist-get 'message params)))

;; Once the answer is out.
(cl-defmethod wirecert-stimulus ((_ (eql quit)) _params)
  (run-with-timer 0.1 nil (lambda ()
                            (dolist (buffer (buffer-list))
                              (with-current-buffer buffer (set-buffer-modified-p nil)))
                            (kill-emacs 0))))

;;; The socket

(defvar wirecert-waiting nil
  "The stimuli that were not performed yet, each with the connection that its answer goes to.")

(defun wirecert-perform ()
  "Perform a stimulus.  It is a command, so that all that follows a command follows it."
  (interactive)
  (pcase-let* ((`(,connection (,name . ,params)) (pop wirecert-waiting))
               (result (condition-case problem
                           (progn (wirecert-stimulus name params) '((ok)))
                         (wirecert-unable `((unable . ,(cadr problem))))
                         (error `((error . ,(error-message-string problem)))))))
    ;; After this command, and what its hooks do.
    (run-with-timer 0 nil (lambda ()
                            (process-send-string connection (concat (json-encode result) "\n"))
                            (run-with-timer 0 nil #'delete-process connection)))))
(global-set-key [wirecert] #'wirecert-perform)

(defun wirecert-receive (connection piece)
  "Take a PIECE of the line that comes over CONNECTION, and have what it says performed once it is whole."
  (let ((text (concat (process-get connection 'wirecert-text) piece)))
    (process-put connection 'wirecert-text text)
    (when (string-suffix-p "\n" text)
      (setq wirecert-waiting
            (append wirecert-waiting (list (cons connection (json-read-from-string text)))))
      (setq unread-command-events (append unread-command-events '(wirecert))))))

(let ((socket (expand-file-name "control.sock" (getenv "WIRECERT_RUN_DIR"))))
  ;; An Emacs that was killed leaves its socket, and the next one could not bind beside it.
  (ignore-errors (delete-file socket))
  (make-network-process :name "wirecert" :server 16 :family 'local :service socket
                        :coding 'utf-8-unix :filter #'wirecert-receive))

;;; The package

(setq default-directory (file-name-as-directory (getenv "WIRECERT_WORKSPACE")))
(require 'amp)
(amp-start)
